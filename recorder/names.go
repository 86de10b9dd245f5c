package recorder

import (
	"errors"
	"fmt"
	"strings"
)

// maxTopicName is how long a full name may be, so that the middleware can put its prefix before it.
const maxTopicName = 247

// ValidateTopicName checks a topic name that a user gave, relative or full, by the rules of ROS. A path that was given
// where a topic belongs fails here, with a sentence that says why.
func ValidateTopicName(name string) error {
	if name == "" {
		return errors.New("check topic name: it is empty")
	}
	if len(name) > maxTopicName {
		return fmt.Errorf("check topic name %q: it has %d characters, at most %d are allowed", name, len(name), maxTopicName)
	}
	rest := strings.TrimPrefix(name, "~")
	if rest != name && !strings.HasPrefix(rest, "/") {
		return fmt.Errorf("check topic name %q: '~' must be followed by '/'", name)
	}
	for _, c := range rest {
		if c != '/' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return fmt.Errorf("check topic name %q: it has %q, only letters, digits, '_' and '/' are allowed", name, c)
		}
	}
	if strings.HasSuffix(name, "/") {
		return fmt.Errorf("check topic name %q: it must not end with '/'", name)
	}
	for _, token := range strings.Split(strings.TrimPrefix(rest, "/"), "/") {
		switch {
		case token == "":
			return fmt.Errorf("check topic name %q: it must not have two '/' in a row", name)
		case token[0] >= '0' && token[0] <= '9':
			return fmt.Errorf("check topic name %q: %q must not start with a digit", name, token)
		}
	}
	return nil
}

// ExpandTopicName makes a valid name full: relative ones belong to namespace, those with "~/" to the node.
func ExpandTopicName(name, namespace, nodeName string) string {
	switch {
	case strings.HasPrefix(name, "/"):
		return name
	case strings.HasPrefix(name, "~/"):
		return strings.TrimSuffix(namespace, "/") + "/" + nodeName + name[1:]
	}
	return strings.TrimSuffix(namespace, "/") + "/" + name
}

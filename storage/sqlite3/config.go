package sqlite3

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"rosbagd/storage"
)

// The storage preset profiles.
const (
	PresetResilient = "resilient"
	PresetNone      = "none"
)

const presetNoneRisk = "SQLite writes without protection: when the process is killed or power is lost the file may become " +
	"unreadable; 'resilient' keeps what was committed"

// presetPragmas are the pragmas of a preset. An empty name is the default of this program, which is rosbag2's
// "resilient": a journal in memory leaves damaged files behind when the process dies.
func presetPragmas(name string) ([]string, error) {
	switch name {
	case "", PresetResilient:
		return []string{"journal_mode = WAL", "synchronous = NORMAL"}, nil
	case PresetNone:
		return []string{"journal_mode = MEMORY", "synchronous = OFF"}, nil
	default:
		return nil, fmt.Errorf("invalid storage preset profile string: %s (valid options are 'resilient', 'none')", name)
	}
}

// The sections of a storage config file.
const (
	sectionRead  = "read"
	sectionWrite = "write"
)

var errConfigSection = errors.New("exception on parsing sqlite3 config file")

// configPragmas reads one section of a storage config file: `write: {pragmas: ["name = value", ...]}`. The section that
// is used must be there.
func configPragmas(config storage.Config, section string) ([]string, error) {
	if config.Path == "" && len(config.Data) == 0 {
		return nil, nil
	}
	pragmas, err := parseSection(config.Data, section)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", config.Path, errConfigSection, err)
	}
	for _, pragma := range pragmas {
		if err := checkPragma(pragma); err != nil {
			return nil, fmt.Errorf("%s: %w", config.Path, err)
		}
	}
	return pragmas, nil
}

// parseSection goes down node by node, so that its errors speak of the file and not of types of Go.
func parseSection(data []byte, section string) ([]string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, errors.New(strings.TrimPrefix(oneLine(err.Error()), "yaml: "))
	}
	var sections, keys map[string]yaml.Node
	if err := document.Decode(&sections); err != nil {
		return nil, fmt.Errorf("it has no sections '%s' and '%s'", sectionRead, sectionWrite)
	}
	found, ok := sections[section]
	if !ok {
		return nil, fmt.Errorf("it has no section '%s' with pragmas", section)
	}
	if found.Decode(&keys) != nil {
		return nil, fmt.Errorf("line %d: section '%s' is no map with the key pragmas", found.Line, section)
	}
	for key := range keys {
		if key != "pragmas" {
			return nil, fmt.Errorf("line %d: section '%s': unknown key %s (known: pragmas)", found.Line, section, storage.Printable(key))
		}
	}
	list, ok := keys["pragmas"]
	if !ok {
		return nil, nil
	}
	var pragmas []string
	if list.Decode(&pragmas) != nil {
		return nil, fmt.Errorf("line %d: pragmas of section '%s' are no list of texts", list.Line, section)
	}
	return pragmas, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// checkPragma lets nothing through but `name`, `name = value` and `name(value)`.
func checkPragma(pragma string) error {
	if strings.ContainsAny(pragma, `;"'`) {
		return fmt.Errorf("invalid characters in sqlite3 config file: %s. Avoid following characters: ' \" ;",
			storage.Printable(pragma))
	}
	if name := pragmaName(pragma); name == "" || strings.ContainsFunc(name, notInName) {
		return fmt.Errorf("sqlite3 config file: not a pragma: %q", pragma)
	}
	return nil
}

func notInName(r rune) bool {
	return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// pragmaName is the text left of `=` or `(`.
func pragmaName(pragma string) string {
	if at := strings.IndexAny(pragma, "=("); at >= 0 {
		pragma = pragma[:at]
	}
	return strings.ToLower(strings.TrimSpace(pragma))
}

// writePragmas joins preset and config file; the file wins for each name.
func writePragmas(preset string, config storage.Config) ([]string, error) {
	pragmas, err := presetPragmas(preset)
	if err != nil {
		return nil, err
	}
	given, err := configPragmas(config, sectionWrite)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var result []string
	for _, pragma := range append(pragmas, given...) {
		name := pragmaName(pragma)
		if i, ok := at[name]; ok {
			result[i] = pragma
			continue
		}
		at[name] = len(result)
		result = append(result, pragma)
	}
	return result, nil
}

package recorder

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilter(t *testing.T) {
	const str, event = "std_msgs/msg/String", "std_srvs/srv/SetBool_Event"
	all := Filter{AllTopics: true, AllServices: true, AllActions: true}
	topics := Filter{AllTopics: true}
	services := Filter{AllServices: true}
	actions := Filter{AllActions: true}
	hidden := Filter{AllTopics: true, IncludeHidden: true}
	named := func(names ...string) Filter { return Filter{Topics: names} }
	for name, c := range map[string]struct {
		filter Filter
		topic  string
		types  []string
		want   Verdict
	}{
		"nothing is asked for":         {Filter{}, "/a", []string{str}, NotSelected},
		"hidden alone selects nothing": {Filter{IncludeHidden: true}, "/a", []string{str}, NotSelected},
		"no type":                      {all, "/a", nil, NotSelected},
		"all topics":                   {topics, "/a", []string{str}, Selected},
		"all":                          {all, "/a", []string{str}, Selected},
		"by name":                      {named("/b", "/a"), "/a", []string{str}, Selected},
		"another name":                 {named("/b"), "/a", []string{str}, NotSelected},
		"part of a name":               {named("/a"), "/a/b", []string{str}, NotSelected},
		"all topics beside names":      {Filter{Topics: []string{"/b"}, AllTopics: true}, "/a", []string{str}, Selected},
		"several types":                {topics, "/a", []string{str, "std_msgs/msg/Bool"}, SeveralTypes},
		"several, not asked for":       {named("/b"), "/a", []string{str, "std_msgs/msg/Bool"}, NotSelected},
		"hidden":                       {topics, "/_a", []string{str}, Hidden},
		"hidden in the middle":         {topics, "/a/_b/c", []string{str}, Hidden},
		"hidden by name":               {named("/_a"), "/_a", []string{str}, Hidden},
		"hidden by name, not asked":    {named("/b"), "/_a", []string{str}, NotSelected},
		"hidden included":              {hidden, "/_a", []string{str}, Selected},
		"underscore within a token":    {topics, "/a_b", []string{str}, Selected},
		"events, all":                  {all, "/s/_service_event", []string{event}, Selected},
		"events, all services":         {services, "/s/_service_event", []string{event}, Selected},
		"events, all topics":           {topics, "/s/_service_event", []string{event}, NotSelected},
		"events, hidden topics":        {hidden, "/s/_service_event", []string{event}, NotSelected},
		"events by topic name":         {named("/s/_service_event"), "/s/_service_event", []string{event}, NotSelected},
		"suffix without event type":    {services, "/s/_service_event", []string{str}, NotSelected},
		"event type without suffix":    {services, "/s", []string{event}, NotSelected},
		"event type as a topic":        {topics, "/s", []string{event}, Selected},
		"services, ordinary topic":     {services, "/a", []string{str}, NotSelected},
		"send_goal":                    {actions, "/w/_action/send_goal/_service_event", []string{"p/action/W_SendGoal_Event"}, Selected},
		"get_result":                   {actions, "/w/_action/get_result/_service_event", []string{"p/action/W_GetResult_Event"}, Selected},
		"cancel_goal":                  {actions, "/w/_action/cancel_goal/_service_event", []string{"action_msgs/srv/CancelGoal_Event"}, Selected},
		"feedback":                     {actions, "/w/_action/feedback", []string{"p/action/W_FeedbackMessage"}, Selected},
		"status":                       {actions, "/w/_action/status", []string{"action_msgs/msg/GoalStatusArray"}, Selected},
		"cancel_goal is no service":    {services, "/w/_action/cancel_goal/_service_event", []string{"action_msgs/srv/CancelGoal_Event"}, NotSelected},
		"feedback is no topic":         {hidden, "/w/_action/feedback", []string{"p/action/W_FeedbackMessage"}, NotSelected},
		"feedback of another type":     {actions, "/w/_action/feedback", []string{str}, NotSelected},
		"actions, ordinary topic":      {actions, "/a", []string{str}, NotSelected},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, c.filter.Select(c.topic, c.types))
		})
	}
}

func TestValidateTopicName(t *testing.T) {
	for _, name := range []string{"/a", "a", "~/a", "/a/b_1", "/_hidden", "/A", "a/b", "/" + strings.Repeat("a", 246)} {
		require.NoError(t, ValidateTopicName(name), name)
	}
	for name, reason := range map[string]string{
		"":                             "empty",
		"/":                            "end with '/'",
		"/a/":                          "end with '/'",
		"//a":                          "two '/' in a row",
		"/a//b":                        "two '/' in a row",
		"/1a":                          "start with a digit",
		"a/2":                          "start with a digit",
		"./bag":                        "it has '.'",
		"my-bag":                       "it has '-'",
		"/a b":                         "it has ' '",
		"/ä":                           "it has 'ä'",
		"~a":                           "followed by '/'",
		"/a/~/b":                       "it has '~'",
		"~":                            "followed by '/'",
		"bag_0.mcap":                   "it has '.'",
		"/" + strings.Repeat("a", 247): "at most 247",
	} {
		require.ErrorContains(t, ValidateTopicName(name), reason, name)
	}
}

func FuzzValidateTopicName(f *testing.F) {
	for _, seed := range []string{"/a/b", "~/a", "a//b", "/1", "", "~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if ValidateTopicName(name) != nil {
			return
		}
		full := ExpandTopicName(name, "/ns", "me") // what is valid stays valid when it is made full, and is full then
		require.True(t, strings.HasPrefix(full, "/"))
		require.Equal(t, full, ExpandTopicName(full, "/other", "you"))
		if len(full) <= maxTopicName {
			require.NoError(t, ValidateTopicName(full))
		}
	})
}

func TestExpandTopicName(t *testing.T) {
	for _, c := range []struct{ name, namespace, want string }{
		{"/a", "/ns", "/a"}, {"a", "/ns", "/ns/a"}, {"a", "/", "/a"}, {"~/a", "/ns", "/ns/me/a"}, {"~/a", "/", "/me/a"},
	} {
		require.Equal(t, c.want, ExpandTopicName(c.name, c.namespace, "me"))
	}
}

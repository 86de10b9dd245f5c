package player

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

func TestFilter(t *testing.T) {
	topics := []storage.Topic{
		{Name: "/a", Type: "std_msgs/msg/String"},
		{Name: "/ab", Type: "std_msgs/msg/String"},
		{Name: "/ns/a", Type: "std_msgs/msg/String"},
		{Name: "/s/_service_event", Type: "std_srvs/srv/Empty_Event"},
		{Name: "/fake/_service_event", Type: "std_msgs/msg/String"},
	}
	const event, fake = "/s/_service_event", "/fake/_service_event"
	cases := []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"nothing asked for", Filter{}, []string{"/a", "/ab", "/ns/a", event, fake}},
		{"list, which says nothing about services", Filter{Topics: []string{"/a", "/none"}}, []string{"/a", event}},
		{"expression, the whole name", Filter{Regex: "/a"}, []string{"/a"}},
		{"expression, the longer alternative", Filter{Regex: "/a|/ab"}, []string{"/a", "/ab"}},
		{"expression about a service", Filter{Regex: "/s/.*"}, []string{event}},
		{"look-ahead", Filter{Regex: "/(?!ns).*"}, []string{"/a", "/ab", event, fake}},
		{"list or expression", Filter{Topics: []string{"/a"}, Regex: "/ns/.*"}, []string{"/a", "/ns/a"}},
		{"excluded", Filter{ExcludeTopics: []string{"/a", event}}, []string{"/ab", "/ns/a", event, fake}},
		{"excluded by expression", Filter{ExcludeRegex: ".*/a"}, []string{"/ab", event, fake}},
		{"exclusion wins over the list", Filter{Topics: []string{"/a", "/ab"}, ExcludeTopics: []string{"/a"}, ExcludeRegex: "/s.*"}, []string{"/ab"}},
		{"exclusion wins over the expression", Filter{Regex: ".*a.*", ExcludeRegex: "/a.*"}, []string{"/ns/a", fake}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			filter, err := tc.filter.compile()
			require.NoError(t, err)
			var got []string
			for _, topic := range topics {
				selected, err := filter.selects(topic)
				require.NoError(t, err)
				if selected {
					got = append(got, topic.Name)
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestFilterRefusesABrokenExpression(t *testing.T) {
	for _, expression := range []string{"(", ")", "a)(b", "*"} {
		_, err := New(&memoryBag{}, Connections{}, Options{Filter: Filter{Regex: expression}})
		require.ErrorContains(t, err, "parse topic expression", expression)
		_, err = New(&memoryBag{}, Connections{}, Options{Filter: Filter{ExcludeRegex: expression}})
		require.ErrorContains(t, err, "parse exclude expression", expression)
	}
}

package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/msgs"
)

func TestParseTypeName(t *testing.T) {
	for typ, want := range map[string]TypeName{
		"std_msgs/msg/String":                  {"std_msgs", "msg", "String"},
		"test_msgs/srv/BasicTypes_Event":       {"test_msgs", "srv", "BasicTypes_Event"},
		"a2/action/Fibonacci_FeedbackMessage":  {"a2", "action", "Fibonacci_FeedbackMessage"},
		"":                                     {},
		"std_msgs/String":                      {},
		"std_msgs/msg/String/More":             {},
		"../../x/msg/String":                   {},
		"std_msgs/msg/Str ing":                 {},
		"std_msgs/other/String":                {},
		"std_msgs/msg/String; rm -rf /tmp/foo": {},
	} {
		got, err := ParseTypeName(typ)
		require.Equal(t, want, got, typ)
		require.Equal(t, want == TypeName{}, err != nil, typ)
	}
}

func TestCopyFieldsTakesWhatBothHave(t *testing.T) {
	type older struct{ ClosedFile, OpenedFile string }
	type newer struct {
		ClosedFile, OpenedFile, NodeName string
		Start                            msgs.Time
		Count                            int
	}
	var o older
	copyFields(&o, newer{ClosedFile: "a", OpenedFile: "b", NodeName: "/n"})
	require.Equal(t, older{"a", "b"}, o)

	n := newer{NodeName: "kept", Count: 3}
	copyFields(&n, &o)
	require.Equal(t, newer{ClosedFile: "a", OpenedFile: "b", NodeName: "kept", Count: 3}, n)

	type otherTime struct {
		Sec     int32
		Nanosec uint32
	}
	to := struct {
		Start otherTime
		Count string // not the same kind of thing: left alone
	}{Count: "x"}
	copyFields(&to, newer{Start: msgs.Time{Sec: -1, Nanosec: 5}})
	require.Equal(t, otherTime{-1, 5}, to.Start)
	require.Equal(t, "x", to.Count)
}

func TestBatchGivesItsMemoryBackOnce(t *testing.T) {
	released := 0
	b := NewBatch([]Message{{Data: []byte("x")}}, 1, func() { released++ })
	b.Release()
	b.Release()
	require.Equal(t, 1, released)
	require.Nil(t, b.Messages)
	NewBatch(nil, 0, nil).Release()
}

// traced is an error with a stack trace behind its sentence, as rclgo makes them.
type traced struct{}

func (traced) Error() string {
	return "[*rclgo.Error] create node: bad name, at /src/rcl/node.c:156\ngoroutine 1 [running]:\nmain.main()\n"
}

func TestErrorsAreOneLine(t *testing.T) {
	err := firstLine(traced{})
	require.EqualError(t, err, "create node: bad name")
}

//go:build ros

package test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// control is the rclpy node of peers/control.py: it calls services, subscribes and publishes on demand.
type control struct {
	*process
	answers int // lines of standard output that were read
}

// command and fields are one line for the peer, which documents them.
type command map[string]any

type fields map[string]any

func (w *world) control(t *testing.T) *control {
	t.Helper()
	c := &control{process: w.script(t, "control.py")}
	c.answer(t, nil)
	return c
}

func (c *control) do(t *testing.T, what command, into any) {
	t.Helper()
	line, err := json.Marshal(what)
	require.NoError(t, err)
	_, err = io.WriteString(c.stdin, string(line)+"\n")
	require.NoError(t, err, "peer is gone\n%s", c.dump())
	c.answer(t, into)
}

func (c *control) answer(t *testing.T, into any) {
	t.Helper()
	c.answers++
	lines := c.waitLines(t, `^\{"(ok|error)":`, c.answers, 90*time.Second)
	var answer struct {
		OK    json.RawMessage `json:"ok"`
		Error string          `json:"error"`
	}
	require.NoError(t, json.Unmarshal([]byte(lines[c.answers-1]), &answer))
	require.Empty(t, answer.Error, "peer could not do what it was told")
	if into != nil {
		require.NoError(t, json.Unmarshal(answer.OK, into))
	}
}

// call calls a service of rosbag2_interfaces and returns the response.
func (c *control) call(t *testing.T, service, kind string, request fields) fields {
	t.Helper()
	var response fields
	c.do(t, command{"op": "call", "service": service, "type": "rosbag2_interfaces/srv/" + kind, "request": request, "timeout": 20}, &response)
	return response
}

// message is one serialized message that the peer took.
type message struct {
	Data     string `json:"data"`
	Source   int64  `json:"source"`
	Received int64  `json:"received"`
}

func (c *control) subscribe(t *testing.T, topic, kind string, quality fields) {
	t.Helper()
	what := command{"op": "subscribe", "topic": topic, "type": kind}
	for name, value := range quality {
		what[name] = value
	}
	c.do(t, what, nil)
}

// matched waits until the publishers of topics that were subscribed know of it.
func (c *control) matched(t *testing.T, topics ...string) {
	t.Helper()
	c.do(t, command{"op": "matched", "topics": topics, "timeout": 20}, nil)
}

// await waits for so many messages since the last look, and takes all there are.
func (c *control) await(t *testing.T, topic string, count int) []message {
	t.Helper()
	var taken []message
	c.do(t, command{"op": "await", "topic": topic, "count": count, "timeout": 30}, &taken)
	return taken
}

// clear takes what came since the last look.
func (c *control) clear(t *testing.T, topic string) []message {
	t.Helper()
	var taken []message
	c.do(t, command{"op": "clear", "topic": topic}, &taken)
	return taken
}

// advertise and publish send serialized bytes after somebody has subscribed.
func (c *control) advertise(t *testing.T, topic, kind string, quality fields) {
	t.Helper()
	what := command{"op": "advertise", "topic": topic, "type": kind}
	for name, value := range quality {
		what[name] = value
	}
	c.do(t, what, nil)
}

func (c *control) publish(t *testing.T, topic string, data []byte, subscriptions int) {
	t.Helper()
	c.do(t, command{
		"op": "publish", "topic": topic, "data": base64.StdEncoding.EncodeToString(data),
		"subscriptions": subscriptions, "timeout": 20,
	}, nil)
}

// stringMessage is a serialized std_msgs/String.
func stringMessage(text string) []byte {
	data := binary.LittleEndian.AppendUint32([]byte{0, 1, 0, 0}, uint32(len(text)+1))
	return append(append(data, text...), 0)
}

// texts are the contents of std_msgs/String messages.
func texts(t *testing.T, messages []message) []string {
	t.Helper()
	var found []string
	for _, one := range messages {
		data, err := base64.StdEncoding.DecodeString(one.Data)
		require.NoError(t, err)
		require.Greater(t, len(data), 8)
		found = append(found, strings.TrimRight(string(data[8:]), "\x00"))
	}
	return found
}

// clockNanos are the times of rosgraph_msgs/Clock messages.
func clockNanos(t *testing.T, messages []message) []int64 {
	t.Helper()
	var found []int64
	for _, one := range messages {
		data, err := base64.StdEncoding.DecodeString(one.Data)
		require.NoError(t, err)
		require.Len(t, data, 12)
		seconds := int32(binary.LittleEndian.Uint32(data[4:]))
		found = append(found, int64(seconds)*int64(time.Second)+int64(binary.LittleEndian.Uint32(data[8:])))
	}
	return found
}

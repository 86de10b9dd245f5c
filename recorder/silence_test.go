package recorder

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"rosbagd/node"
)

const (
	ownPID    = 0x101d2
	ownUser   = 1000
	otherUser = 0
)

// gidOf is a GID as Fast DDS makes them: vendor, host, half of the process id, the rest.
func gidOf(host byte, pid int, rest byte) node.GID {
	gid := node.GID{1, 15, host, 0x7f}
	binary.LittleEndian.PutUint16(gid[4:], uint16(pid))
	gid[6], gid[15] = rest, rest
	return gid
}

// memoryOf is a machine on which these processes have segments.
func memoryOf(t *testing.T, users map[int]uint32) sharedMemory {
	t.Helper()
	directory := t.TempDir()
	locks := []string{"1: POSIX  ADVISORY  READ 5 fe:00:7 0 EOF", "2: FLOCK  ADVISORY  WRITE 77 fe:00:99 0 EOF"}
	files := map[string]fileID{}
	owners := map[string]uint32{}
	for pid, uid := range users {
		name := filepath.Join(directory, fmt.Sprintf("fastrtps_%x_el", pid))
		require.NoError(t, os.WriteFile(name, nil, 0o600))
		files[name], owners[name] = fileID{0, 0x1b, uint64(1000 + pid)}, uid
		locks = append(locks,
			fmt.Sprintf("3: FLOCK  ADVISORY  WRITE %d 00:1b:%d 0 EOF", pid, 1000+pid),
			fmt.Sprintf("3: -> FLOCK  ADVISORY  WRITE %d 00:1b:%d 0 EOF", pid+1, 1000+pid))
	}
	list := filepath.Join(directory, "locks")
	require.NoError(t, os.WriteFile(list, []byte(strings.Join(locks, "\n")+"\n"), 0o600))
	stat := func(path string) (fileID, uint32, error) { return files[path], owners[path], nil }
	return sharedMemory{locks: list, segments: directory, stat: stat}
}

// quiet runs a silence among fakes until all publishers had their time, and returns what it logged.
func quiet(t *testing.T, memory sharedMemory, prepare func(*silence)) *observer.ObservedLogs {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	synctest.Test(t, func(t *testing.T) {
		graph := newFakeGraph()
		own := node.Endpoint{NodeName: "recorder", NodeNamespace: "/", GID: gidOf(1, ownPID, 1)}
		graph.set("/rosout", "rcl_interfaces/msg/Log", node.Endpoint{NodeName: "other", GID: gidOf(9, 3, 9)}, own)
		s := newSilence(Environment{Graph: graph, Logger: zap.New(core)}, "/recorder")
		s.memory, s.pid = memory, ownPID
		prepare(s)
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.run(ctx)
		}()
		pass(2*silentAfter + time.Millisecond)
		end()
		<-done
	})
	return logs
}

const (
	silenceText  = "nothing of a publisher can be recorded"
	namelessText = "neither a message nor the name of its node"
)

func nameless(gid node.GID) node.Endpoint { return node.Endpoint{NodeName: nameUnknown, GID: gid} }

func TestSilenceOfAnotherUserIsTold(t *testing.T) {
	const pid = 0x217d2 + 1
	image, info := &topic{name: "/image"}, &topic{name: "/info"}
	show := func(s *silence, tp *topic, publishers ...node.Endpoint) {
		s.graph.(*fakeGraph).set(tp.name, stringType, publishers...)
		s.see(tp, publishers)
	}
	see := func(s *silence) {
		show(s, image, nameless(gidOf(1, pid, 1)))
		show(s, info, nameless(gidOf(1, pid, 1)))
		show(s, image, nameless(gidOf(1, pid, 1)), nameless(gidOf(1, pid, 2)))
	}
	foreign := map[int]uint32{ownPID: ownUser, pid: otherUser}
	for name, test := range map[string]struct {
		users           map[int]uint32
		prepare         func(*silence)
		warnings, infos int
	}{
		"another user on this host":       {foreign, see, 2, 0}, // once a topic
		"the same user":                   {map[int]uint32{ownPID: ownUser, pid: ownUser}, see, 0, 2},
		"we use no shared memory":         {map[int]uint32{pid: otherUser}, see, 0, 2},
		"it uses no shared memory":        {map[int]uint32{ownPID: ownUser}, see, 0, 2},
		"half its id is one of ours, too": {map[int]uint32{ownPID: ownUser, pid: otherUser, pid + 1<<16: ownUser}, see, 0, 2},
		"it has gone":                     {foreign, func(s *silence) { see(s); show(s, image); show(s, info) }, 0, 0},
		"another host":                    {foreign, func(s *silence) { show(s, image, nameless(gidOf(2, pid, 1))) }, 0, 1},
		"we are not in the graph":         {foreign, func(s *silence) { s.node = "/nobody"; see(s) }, 0, 2},
		"a middleware with other GIDs":    {map[int]uint32{ownPID + 1: ownUser, pid: otherUser}, func(s *silence) { s.pid++; see(s) }, 0, 2},
		"its name has come, it is idle": {foreign, func(s *silence) {
			see(s)
			show(s, image, node.Endpoint{NodeName: "camera", GID: gidOf(1, pid, 1)})
			show(s, info, node.Endpoint{NodeName: "camera", GID: gidOf(1, pid, 1)})
		}, 0, 0},
		"its messages have come": {foreign, func(s *silence) {
			show(s, &topic{name: "/heard", streams: heardOf(gidOf(1, pid, 1))}, nameless(gidOf(1, pid, 1)))
		}, 0, 0},
		"the messages of another have come": {foreign, func(s *silence) {
			show(s, &topic{name: "/image", streams: heardOf(gidOf(1, pid, 2))}, nameless(gidOf(1, pid, 1)), nameless(gidOf(1, pid, 2)))
		}, 1, 0},
		"its name has come without a change of the graph": {foreign, func(s *silence) {
			show(s, image, nameless(gidOf(1, pid, 1)))
			s.graph.(*fakeGraph).set(image.name, stringType, node.Endpoint{NodeName: "camera", GID: gidOf(1, pid, 1)})
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			logs := quiet(t, memoryOf(t, test.users), test.prepare)
			require.Equal(t, test.warnings, logs.FilterLevelExact(zap.WarnLevel).FilterMessageSnippet(silenceText).Len())
			require.Equal(t, test.infos, logs.FilterLevelExact(zap.InfoLevel).FilterMessageSnippet(namelessText).Len())
			require.Equal(t, test.warnings+test.infos, logs.Len())
			if test.warnings > 0 {
				fields := logs.FilterField(zap.String("topic", "/image")).All()[0].ContextMap()
				require.EqualValues(t, pid, fields["pid"])
			}
		})
	}
}

// heardOf are the streams of a topic of which one publisher was heard.
func heardOf(gid node.GID) streams {
	return streams{heard: heard{from: map[node.GID]bool{gid: true}}}
}

// A program without a node's name whose messages come is none to speak of.
func TestNamelessPublisherThatIsHeard(t *testing.T) {
	inBubble(t, Options{Filter: Filter{AllTopics: true}}, func(h *harness) {
		h.graph.set("/a", stringType, nameless(node.GID{1}))
		h.graph.set("/b", stringType, nameless(node.GID{2}))
		h.graph.set("/c", stringType, volatilePublisher(3))
		h.record()
		h.sub.give(message(h.sub.ids("/a")[0], 1, 1))
		pass(2*silentAfter + time.Second)
		h.graph.set("/a", stringType, nameless(node.GID{1}))
		pass(2*silentAfter + time.Second)
		require.Equal(t, 1, h.logged(namelessText))
		require.Equal(t, 1, h.logs.FilterMessageSnippet(namelessText).FilterField(zap.String("topic", "/b")).Len())
		require.Zero(t, h.logged(silenceText))
	})
}

// Who keeps messages from whom was tried with processes of both versions.
func TestUsersThatKeepMessages(t *testing.T) {
	for _, test := range []struct {
		theirs, ours uint32
		detours      bool
		keeps        bool
	}{
		{0, 1000, false, true},
		{1000, 0, false, true},
		{1001, 1000, false, true},
		{1000, 1000, false, false},
		{0, 1000, true, true},
		{1000, 0, true, false},
		{1001, 1000, true, false},
		{0, 0, true, false},
	} {
		theirs, ours := owner{test.theirs, test.detours}, owner{test.ours, test.detours}
		require.Equal(t, test.keeps, theirs.keeps(ours), "%+v", test)
	}
}

func TestSilenceWithoutListOfLocks(t *testing.T) {
	memory := sharedMemory{locks: "/nowhere", segments: "/nowhere", stat: statFile}
	require.Empty(t, memory.owners())
}

//go:build ros

package test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// durable is the promise: what was received longer ago than this survives kill -9.
const durable = time.Second

// sends reads what `load pub --sends` noted: for each topic the number of messages that went out before an instant.
func sends(t *testing.T, path string, before time.Time) map[string]int {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	found := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var topic string
		var number int
		var nanos int64
		// The last line of a file whose writer goes on may be torn.
		if n, err := fmt.Sscanf(lines.Text(), "%s %d %d", &topic, &number, &nanos); err != nil || n != 3 {
			break
		}
		if nanos < before.UnixNano() {
			found[topic] = number + 1
		}
	}
	return found
}

// TestKill kills a recorder in the middle: what it had received a second before is in the file, which needs no repair.
func TestKill(t *testing.T) {
	for _, storage := range []string{"mcap", "sqlite3"} {
		t.Run(storage, func(t *testing.T) {
			w := newWorld(t)
			bag, noted := w.path("killed"), w.path("sends")
			recorder := w.record(t, bag, append([]string{"-s", storage}, loadTopics(3)...)...)
			publisher := w.load(t, "pub", "--topics", "3", "--rate", "200", "--size", "1000", "--count", "4000", "--mark", "800", "--sends", noted)
			publisher.waitLine(t, "^mark$", startDeadline)
			killed := time.Now()
			recorder.signal(t, syscall.SIGKILL)
			recorder.requireExit(t, -1, stopDeadline)
			publisher.signal(t, syscall.SIGINT)
			publisher.requireExit(t, 0, stopDeadline)

			promised := sends(t, noted, killed.Add(-durable))
			require.Len(t, promised, 3)
			before := treeHash(t, bag)

			t.Run("info", func(t *testing.T) {
				info := w.run(t, 0, "info", bag)
				requireNoCrash(t, info)
				for topic := range promised {
					require.Contains(t, info.text(stdout), "Topic: "+topic)
				}
				require.Equal(t, before, treeHash(t, bag), "info changed the bag")
			})
			t.Run("contents", func(t *testing.T) {
				requireFirst(t, w.numbersOf(t, storage, bag), promised)
			})
			t.Run("play", func(t *testing.T) {
				peer := w.control(t)
				for topic := range promised {
					peer.subscribe(t, topic, stringType, nil)
				}
				player := w.rosbagd(t, "play", bag, "--start-paused", "-r", "4")
				peer.matched(t, slices.Collect(maps.Keys(promised))...)
				peer.call(t, "/rosbag2_player/resume", "Resume", nil)
				for topic, count := range promised {
					for number, text := range texts(t, peer.await(t, topic, count)) {
						require.Equal(t, fmt.Sprintf("%016x", number), text[:16])
					}
				}
				player.requireExit(t, 0, startDeadline)
				requireNoCrash(t, player)
			})
		})
	}
}

// numbersOf reads a file that nobody finished.
func (w *world) numbersOf(t *testing.T, storage, bag string) map[string]numbers {
	t.Helper()
	if storage == "mcap" {
		return w.mcapNumbers(t, bag)
	}
	files, err := filepath.Glob(filepath.Join(bag, "*.db3"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	reader := w.script(t, "read_sqlite3.py", files[0])
	reader.requireExit(t, 0, readDeadline)
	var found map[string]numbers
	lastJSON(t, reader, &found)
	return found
}

// requireFirst requires at least the first so many numbers of each topic, without a gap.
func requireFirst(t *testing.T, found map[string]numbers, promised map[string]int) {
	t.Helper()
	for topic, count := range promised {
		got := found[topic]
		require.GreaterOrEqual(t, got.Count, count, "%s: promised messages in the file", topic)
		require.Zero(t, got.First, topic)
		require.Zero(t, got.Missing, topic)
		require.Zero(t, got.Again, topic)
	}
}

// TestKillLeavesEarlierFiles kills a recorder after splits: the finished files are whole, and the directory opens.
func TestKillLeavesEarlierFiles(t *testing.T) {
	w := newWorld(t)
	bag, noted := w.path("killed"), w.path("sends")
	recorder := w.record(t, bag, loadTopics(1)...)
	peer := w.control(t)
	publisher := w.load(t, "pub", "--topics", "1", "--rate", "200", "--size", "1000", "--count", "4000", "--mark", "600", "--sends", noted)
	publisher.waitLine(t, "^matched$", startDeadline)
	for range 3 {
		peer.call(t, "/rosbag2_recorder/split_bagfile", "SplitBagfile", nil)
	}
	publisher.waitLine(t, "^mark$", startDeadline)
	killed := time.Now()
	recorder.signal(t, syscall.SIGKILL)
	recorder.requireExit(t, -1, stopDeadline)
	publisher.signal(t, syscall.SIGINT)
	publisher.requireExit(t, 0, stopDeadline)

	promised := sends(t, noted, killed.Add(-durable))
	files, err := filepath.Glob(filepath.Join(bag, "*.mcap"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	var ordered []string
	for i := range files {
		ordered = append(ordered, filepath.Join(bag, "killed_"+strconv.Itoa(i)+".mcap"))
	}
	reader := w.script(t, "read_mcap.py", append([]string{"numbers"}, ordered...)...)
	reader.requireExit(t, 0, readDeadline)
	var found map[string]numbers
	lastJSON(t, reader, &found)
	requireFirst(t, found, promised)
	info := w.run(t, 0, "info", bag)
	require.Contains(t, info.text(stdout), "killed_0.mcap")
	w.run(t, 0, "play", bag, "-r", "10")
}

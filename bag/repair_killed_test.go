package bag_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/bag"
	"rosbagd/storage"
)

// TestRepairKilledLeavesOneOfTheTwo ends a repairing process by kill -9 as soon as something of its work can be seen.
func TestRepairKilledLeavesOneOfTheTwo(t *testing.T) {
	var all [][]storage.Message
	for i, m := range groups(40) {
		for j := range m {
			m[j].Data = bytes.Repeat([]byte{byte(i), byte(j)}, 5000)
		}
		all = append(all, m)
	}
	source := wholeFile(t, t.TempDir(), "mcap", "none", all)
	content, err := os.ReadFile(source)
	require.NoError(t, err)
	offsets := chunkOffsets(t, source)
	content = content[:offsets[39]+100]
	want := slices.Concat(all[:39]...)
	for _, seen := range []string{".repair.tmp", ".broken", "metadata.yaml", ""} {
		for round := range 5 {
			t.Run(fmt.Sprint("at ", seen, round), func(t *testing.T) {
				directory := t.TempDir()
				path := filepath.Join(directory, "demo_0.mcap")
				require.NoError(t, os.WriteFile(path, content, 0o600))
				repairKilled(t, directory, seen)
				now, err := os.ReadFile(path)
				require.NoError(t, err)
				r, err := bag.Open(directory, bag.ReaderOptions{})
				require.NoError(t, err)
				requireMessages(t, want, read(t, r, bag.Query{}))
				require.NoError(t, r.Close())
				if !bytes.Equal(now, content) {
					kept, err := os.ReadFile(path + ".broken")
					require.NoError(t, err)
					require.Equal(t, content, kept)
				}
				reindex(t, directory, bag.ReindexOptions{Repair: true})
				require.Equal(t, []string{"demo_0.mcap", "demo_0.mcap.broken", bag.MetadataName}, names(t, directory))
				require.Equal(t, uint64(len(want)), open(t, directory).Metadata().MessageCount)
			})
		}
	}
}

// repairKilled lets a process repair a bag and kills it as soon as a name can be seen that ends so.
func repairKilled(t *testing.T, directory, seen string) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(program, "-test.run=^$")
	child.Env = append(os.Environ(), bag.RepairDirectory+"="+directory)
	require.NoError(t, child.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Wait() // killed or not
	}()
	reached := func(name string) bool { return strings.HasSuffix(name, seen) }
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
			running = !slices.ContainsFunc(names(t, directory), reached)
		}
	}
	_ = child.Process.Kill() // it may have ended
	<-ended
	if !strings.HasSuffix(seen, ".tmp") { // which the child may have renamed since
		require.True(t, slices.ContainsFunc(names(t, directory), reached), "the child got so far")
	}
}

// TestRepairOfADatabaseKilled is TestRepairKilledLeavesOneOfTheTwo for a database with a log.
func TestRepairOfADatabaseKilled(t *testing.T) {
	want := logMessages(400)
	for i := range want {
		want[i].Data = append([]byte{0, 1, 0, 0}, bytes.Repeat([]byte{byte(i)}, 5000)...)
	}
	source := leftWithLog(t, want)
	for _, seen := range []string{".repair.tmp", ".repair.tmp-wal", ".broken", ".broken-wal", "metadata.yaml", ""} {
		for round := range 4 {
			t.Run(fmt.Sprint("at ", seen, round), func(t *testing.T) {
				directory := t.TempDir()
				require.NoError(t, os.CopyFS(directory, os.DirFS(source)))
				path := filepath.Join(directory, "demo_0.db3")
				repairKilled(t, directory, seen)
				r, err := bag.Open(directory, bag.ReaderOptions{})
				if err == nil && len(r.Notes()) == 0 {
					requireMessages(t, want, read(t, r, bag.Query{}))
				} else { // it tells of the log, or can not do without it
					require.NoFileExists(t, path+"-wal")
					require.FileExists(t, path+".broken-wal")
				}
				if err == nil {
					require.NoError(t, r.Close())
				}
				reindex(t, directory, bag.ReindexOptions{Repair: true})
				require.Equal(t, []string{"demo_0.db3", "demo_0.db3.broken", "demo_0.db3.broken-wal", bag.MetadataName}, names(t, directory))
				requireMessages(t, want, read(t, open(t, directory), bag.Query{}))
				requireMessages(t, want, read(t, open(t, path+".broken"), bag.Query{}))
				require.NoError(t, bagIsSound(directory))
			})
		}
	}
}

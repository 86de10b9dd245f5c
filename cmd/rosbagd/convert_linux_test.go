package main

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rosbagd/bag"
	"rosbagd/storage/storagetest"
)

// largeBag takes a second or more to convert to SQLite.
func largeBag(t *testing.T, path string, n int) {
	t.Helper()
	w, err := bag.Create(path, bag.WriterOptions{FlushAge: time.Hour})
	require.NoError(t, err)
	id, err := w.AddTopic(storagetest.Topic("/a"))
	require.NoError(t, err)
	messages := storagetest.Messages(1000, id)
	for i := range n / 1000 {
		for k := range messages {
			messages[k].LogTimeNanos += int64(time.Second)
		}
		require.NoError(t, w.Write(messages), i)
	}
	require.NoError(t, w.Seal())
}

// watchDirectory waits until something is created in a directory.
func watchDirectory(t *testing.T, directory string) (created func() string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	_, err = unix.InotifyAddWatch(fd, directory, unix.IN_CREATE)
	require.NoError(t, err)
	return func() string {
		buffer := make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)
		n, err := unix.Read(fd, buffer)
		require.NoError(t, err)
		return string(bytes.TrimRight(buffer[unix.SizeofInotifyEvent:n], "\x00"))
	}
}

func TestInterruptedConvertLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	largeBag(t, in, 300_000)
	target := filepath.Join(dir, "target")
	require.NoError(t, os.Mkdir(target, 0o700))
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		created := watchDirectory(t, target)
		cmd := command("convert", in, "-s", "sqlite3", "-o", filepath.Join(target, "out"))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		require.Contains(t, created(), ".out.partial-")
		require.NoError(t, cmd.Process.Signal(sig))
		require.Error(t, cmd.Wait())
		require.Equal(t, exitFailed, cmd.ProcessState.ExitCode(), stderr.String())
		require.Equal(t, "[ERROR] [rosbagd]: convert: interrupted, nothing was written\n", stderr.String())
		left, err := os.ReadDir(target)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	require.Equal(t, uint64(300_000), countIn(t, in))
}

func TestConvertToAFullDiskLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	require.NoError(t, os.Mkdir(disk, 0o700))
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a small disk can not be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	in := filepath.Join(dir, "in")
	largeBag(t, in, 100_000)
	for _, args := range [][]string{{}, {"--storage-preset-profile", "none"}, {"-s", "sqlite3"}, {"-b", "500000"}} {
		code, stdout, stderr := callProgram(t, append([]string{"convert", in, "-o", filepath.Join(disk, "out")}, args...)...)
		require.Equal(t, exitFailed, code, "%v: %s", args, stderr)
		require.Empty(t, stdout)
		require.Regexp(t, "no space left on device|database or disk is full", stderr)
		left, err := os.ReadDir(disk)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	require.Equal(t, uint64(100_000), countIn(t, in))
}

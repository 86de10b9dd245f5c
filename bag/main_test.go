package bag

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(killedPath) != "" {
		fmt.Fprintln(os.Stderr, "writer ended:", writeUntilKilled())
		os.Exit(1)
	}
	if directory := os.Getenv(RepairDirectory); directory != "" {
		os.Exit(repairInChild(directory))
	}
	// What is unpacked goes nowhere else.
	cache, err := os.MkdirTemp("", "rosbagd-test-")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv(CacheDirectoryVariable, cache); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(cache); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}

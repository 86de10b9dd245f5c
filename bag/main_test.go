package bag_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"rosbagd/bag"
)

func TestMain(m *testing.M) {
	if directory := os.Getenv(repairDirectory); directory != "" {
		os.Exit(repairInChild(directory))
	}
	// What is unpacked goes nowhere else.
	cache, err := os.MkdirTemp("", "rosbagd-test-")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv(bag.CacheDirectoryVariable, cache); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(cache); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}

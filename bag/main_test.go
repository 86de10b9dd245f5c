package bag_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if directory := os.Getenv(repairDirectory); directory != "" {
		os.Exit(repairInChild(directory))
	}
	goleak.VerifyTestMain(m)
}

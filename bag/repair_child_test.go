package bag

import (
	"context"
	"fmt"
	"os"
)

// RepairDirectory makes a process of this test binary repair a bag and end; see TestMain.
const RepairDirectory = "ROSBAGD_TEST_REPAIR"

func repairInChild(directory string) int {
	if _, err := Reindex(context.Background(), directory, ReindexOptions{Repair: true}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

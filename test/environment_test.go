//go:build ros

package test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// program is the program under test.
func program() string {
	return absolute(cmp.Or(os.Getenv("ROSBAGD_BIN"), "../bin/rosbagd"))
}

// python is the interpreter that has rclpy and the independent readers.
func python() string {
	return absolute(cmp.Or(os.Getenv("PYTHON"), filepath.Join("../.ros", distro(), "bin", "python")))
}

func distro() string {
	return cmp.Or(os.Getenv("ROS_DISTRO"), "jazzy")
}

// prefixes are the places where ROS packages are installed, the first one first.
func prefixes() []string {
	if list := os.Getenv("AMENT_PREFIX_PATH"); list != "" {
		return filepath.SplitList(list)
	}
	return []string{filepath.Dir(filepath.Dir(python()))}
}

// loadScale is the factor by which the load tests are longer than their normal size.
func loadScale() (int, error) {
	scale, err := strconv.Atoi(cmp.Or(os.Getenv("ROSBAGD_LOAD_SCALE"), "1"))
	if err != nil || scale < 1 {
		return 0, fmt.Errorf("read ROSBAGD_LOAD_SCALE: %q is no positive number", os.Getenv("ROSBAGD_LOAD_SCALE"))
	}
	return scale, nil
}

func absolute(path string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		return path
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return full
}

// checkEnvironment says what is missing, and which make target brings it.
func checkEnvironment() error {
	if _, err := exec.LookPath(program()); err != nil {
		return fmt.Errorf("find the program: %w: run `make build` first, or set ROSBAGD_BIN", err)
	}
	if _, err := exec.LookPath(python()); err != nil {
		return fmt.Errorf("find Python: %w: run `make setup` first, or set PYTHON", err)
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		return fmt.Errorf("find the C compiler: %w: it is needed for the load generator", err)
	}
	imports := "import rclpy, test_msgs, rosbag2_interfaces, mcap, mcap_ros2, rosbags, yaml"
	check := exec.Command(python(), "-c", imports)
	check.Env = append(os.Environ(), "AMENT_PREFIX_PATH="+strings.Join(prefixes(), string(filepath.ListSeparator)))
	if output, err := check.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		return fmt.Errorf("import what the peers need: %s: run `make setup` first", lines[len(lines)-1])
	}
	_, err := loadScale()
	return err
}

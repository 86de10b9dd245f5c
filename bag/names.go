package bag

import (
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// FileNames is how the files of a bag are named.
type FileNames int

const (
	// NamesByDirectory is <directory>_<n>.<extension>, as rosbag2 up to Kilted does.
	NamesByDirectory FileNames = iota
	// NamesByTime is <n>_<prefix>_<YYYY_MM_DD-HH_MM_SS>.<extension>, as rosbag2 does from Lyrical on: the prefix is the
	// directory's name without a time stamp at its end, the time is local and that of the file's beginning.
	NamesByTime
)

// firstNamedByTime is the first distro with NamesByTime; distros are named in the order of the alphabet.
const firstNamedByTime = "lyrical"

// FileNamesOf gives the names that rosbag2 of a distro uses; NamesByDirectory when the distro is not known.
func FileNamesOf(distro string) FileNames {
	if distro >= firstNamedByTime {
		return NamesByTime
	}
	return NamesByDirectory
}

const timeInName = "2006_01_02-15_04_05"

var timeAtEnd = regexp.MustCompile(`_\d{4}_\d{2}_\d{2}-\d{2}_\d{2}_\d{2}$`)

// name gives the name of the file with a number, without its extension.
func (n FileNames) name(directory string, number int, now time.Time) string {
	base := filepath.Base(directory)
	if n == NamesByTime {
		return strconv.Itoa(number) + "_" + timeAtEnd.ReplaceAllString(base, "") + "_" + now.Format(timeInName)
	}
	return base + "_" + strconv.Itoa(number)
}

package definition

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Texts and descriptions come from bags, from the network and from directories that anybody may write. These bounds
// are far beyond any type there is, and small enough that the time and memory for what reaches them go unnoticed.
const (
	maxText   = 4 << 20     // bytes of a file, and of a joined text
	maxTypes  = 4096        // types of one text or description
	maxAnswer = 4 * maxText // bytes of what a node answers: descriptions and texts
)

var (
	errLong      = fmt.Errorf("it is longer than %d bytes", maxText)
	errManyTypes = fmt.Errorf("it has more than %d types", maxTypes)
	errNoFile    = errors.New("it is no regular file")
)

// readFile reads an interface file. What is no file, like a pipe that never ends, is not opened.
func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: %w", path, errNoFile)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxText+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxText {
		return "", fmt.Errorf("%s: %w", path, errLong)
	}
	return string(data), nil
}

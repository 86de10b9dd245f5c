package definition

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLongestText is read at once: no step may take time that grows with the square of a text.
func TestLongestText(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < maxText-100; i++ {
		fmt.Fprintf(&b, "demo/N%d f%d\n", i%10, i)
	}
	root := b.Len()
	for i := range 10 {
		fmt.Fprintf(&b, "%sMSG: demo/N%d\nint8 a\n", separator, i)
	}
	d := ros2msg(b.String()[root-3*maxText/4:])
	d.Text = d.Text[strings.IndexByte(d.Text, '\n')+1:]
	described, sources, err := Describe("demo/msg/Long", d)
	require.NoError(t, err)
	require.Greater(t, len(described.Type.Fields), 100_000)
	again, err := FromDescription(described, sources)
	require.NoError(t, err)
	require.Len(t, again.Text, len(d.Text)+10) // an empty line before each part

	_, _, err = Describe("demo/msg/Long", ros2msg(strings.Repeat("int8 a\n", maxText/7+1)))
	require.ErrorIs(t, err, errLong)
}

func TestFilesThatAreNone(t *testing.T) {
	directory := t.TempDir()
	file := func(name string) string { return filepath.Join(directory, "demo", "msg", name+".msg") }
	require.NoError(t, os.MkdirAll(file("Folder"), 0o755))
	require.NoError(t, os.Symlink(os.DevNull, file("Device")))
	require.NoError(t, os.WriteFile(file("Long"), make([]byte, maxText+1), 0o644))
	require.NoError(t, os.WriteFile(file("Half"), []byte(strings.Repeat("#\n", maxText/4)+"Other o\n"), 0o644))
	require.NoError(t, os.WriteFile(file("Other"), []byte(strings.Repeat("#\n", maxText/4)), 0o644))
	for i := range maxTypes {
		require.NoError(t, os.WriteFile(file(fmt.Sprint("Chain", i)), []byte(fmt.Sprintf("Chain%d next\n", i+1)), 0o644))
	}
	for name, want := range map[string]error{"Folder": errNoFile, "Device": errNoFile, "Long": errLong, "Half": errLong, "Chain0": errManyTypes} {
		t.Run(name, func(t *testing.T) {
			_, err := NewFinderIn([]string{directory}).Definition("demo/msg/" + name)
			require.ErrorIs(t, err, want)
		})
	}
}

func TestAnswerThatIsTooLong(t *testing.T) {
	data := answerOf(true, "", Description{Type: Type{Name: "demo/msg/Long"}}, []Source{{TypeName: "demo/msg/Long", Text: strings.Repeat("#", maxAnswer)}})
	_, _, err := DecodeAnswer(data)
	require.ErrorContains(t, err, "more than any type needs")
}

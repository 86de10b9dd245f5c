package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rosbagd/storage"
)

// visited lists what Extras visits, with data that is read as a whole.
func visited(t *testing.T, data []byte) (got []string, err error) {
	t.Helper()
	r, err := fromBytes(data)
	require.NoError(t, err)
	defer r.Close()
	err = r.Extras(func(a storage.Attachment) error {
		content, err := io.ReadAll(a.Data)
		got = append(got, fmt.Sprintf("attachment %s %s %d %d %d %d", a.Name, a.MediaType, a.LogTimeNanos, a.CreateTimeNanos, a.Size, len(content)))
		return err
	}, func(r storage.Record) error {
		got = append(got, fmt.Sprintf("record %s %v", r.Name, r.Values))
		return nil
	})
	return got, err
}

func TestExtras(t *testing.T) {
	file := func(kind summaryKind, crc bool) []byte {
		return build(t).metadata("rosbag2", "serialized_metadata", "version: 9").metadata("one", "k", "v", "l", "").
			two().attachment("a.txt", []byte(strings.Repeat("data", 50_000)), crc).chunk(chunkKind{}, talk(5, 1)...).
			attachment("empty", nil, crc).metadata("two").metadata("rosbag2", "ROS_DISTRO", "jazzy").
			attachment(strings.Repeat("long", 3000), []byte("x"), crc).end(kind)
	}
	want := []string{
		"record one map[k:v l:]", "attachment a.txt text/plain 5 6 200000 200000", "attachment empty text/plain 5 6 0 0",
		"record two map[]", "attachment " + strings.Repeat("long", 3000) + " text/plain 5 6 1 1",
	}
	for name, kind := range map[string]summaryKind{
		"indexed": {}, "no index": {noExtras: true}, "no statistics": {noStatistics: true}, "no summary": {none: true},
	} {
		for _, crc := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, crc %v", name, crc), func(t *testing.T) {
				data := file(kind, crc)
				got, err := visited(t, data)
				require.NoError(t, err)
				require.Equal(t, want, got)

				at := bytes.Index(data, []byte("datadata")) + 100_000
				data[at] ^= 1
				_, err = visited(t, data)
				if crc {
					require.ErrorIs(t, err, errChecksum)
					require.True(t, storage.IsCorruption(err))
				} else {
					require.NoError(t, err)
				}
			})
		}
	}
	t.Run("what is damaged is passed over", func(t *testing.T) {
		data := file(summaryKind{}, true)
		at := bytes.Index(data, []byte("a.txt")) - 4 // its length
		data[at+1] ^= 0xff
		got, err := visited(t, data)
		require.True(t, storage.IsCorruption(err), "%v", err)
		require.Equal(t, append(want[:1:1], want[2:]...), got)
	})
	t.Run("the visitor ends it", func(t *testing.T) {
		r, err := fromBytes(file(summaryKind{}, true))
		require.NoError(t, err)
		defer r.Close()
		stop := errors.New("stop")
		visits := 0
		require.ErrorIs(t, r.Extras(nil, func(storage.Record) error { visits++; return stop }), stop)
		require.Equal(t, 1, visits)
	})
	t.Run("metadata", func(t *testing.T) {
		r, err := fromBytes(file(summaryKind{}, true))
		require.NoError(t, err)
		defer r.Close()
		require.Equal(t, "version: 9", string(r.Info().Metadata))
		require.Equal(t, "jazzy", r.Info().ROSDistro)
		r, err = fromBytes(build(t).two().end(summaryKind{}))
		require.NoError(t, err)
		defer r.Close()
		require.Empty(t, r.Info().Metadata)
	})
}

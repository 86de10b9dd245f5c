package compression

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rosbagd/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryCodecGivesBackWhatItWasGiven(t *testing.T) {
	for _, codec := range All() {
		t.Run(codec.ID, func(t *testing.T) {
			found, err := Lookup(codec.ID)
			require.NoError(t, err)
			require.Equal(t, codec.Extension, found.Extension)
			require.NotEmpty(t, codec.Description)
			for _, message := range []string{"", "a", strings.Repeat("0123456789", 100_000)} {
				frame, err := codec.Compress([]byte("head"), []byte(message), 0)
				require.NoError(t, err)
				require.Equal(t, "head", string(frame[:4]))
				got, err := codec.Decompress([]byte("x"), frame[4:])
				require.NoError(t, err)
				require.Equal(t, "x"+message, string(got))

				var file bytes.Buffer
				w, err := codec.NewWriter(&file, codec.MaxLevel, int64(len(message)))
				require.NoError(t, err)
				_, err = io.WriteString(w, message)
				require.NoError(t, err)
				require.NoError(t, w.Close())
				r, err := codec.NewReader(&file)
				require.NoError(t, err)
				got, err = io.ReadAll(r)
				require.NoError(t, err)
				require.NoError(t, r.Close())
				require.Equal(t, message, string(got))
			}
		})
	}
}

func TestLookupNamesWhatThereIs(t *testing.T) {
	_, err := Lookup("rar")
	require.ErrorIs(t, err, storage.ErrUnsupported)
	require.ErrorContains(t, err, "known: zstd")
}

// TestZstdSaysHowLargeAMessageIs: rosbag2 allocates by what the frame tells.
func TestZstdSaysHowLargeAMessageIs(t *testing.T) {
	for _, size := range []int{0, 1, 255, 256, 1023, 1024, 1025, 5000, 1 << 20, 5 << 20} {
		for level := range zstdCodec().MaxLevel {
			frame, err := zstdCodec().Compress(nil, make([]byte, size), level)
			require.NoError(t, err)
			var head zstd.Header
			require.NoError(t, head.Decode(frame))
			require.True(t, head.HasFCS, "%d bytes", size)
			require.EqualValues(t, size, head.FrameContentSize)
		}
	}
}

// TestAFrameThatClaimsMuchCostsLittle: 13 bytes say that they are a gigabyte.
func TestAFrameThatClaimsMuchCostsLittle(t *testing.T) {
	for _, frame := range [][]byte{
		{0x28, 0xB5, 0x2F, 0xFD, 0x80, 0x58, 0, 0, 0, 0x40, 1, 0, 0},
		{0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 0, 0x40, 1, 0, 0},    // as one segment
		{0x28, 0xB5, 0x2F, 0xFD, 0xA0, 0, 0, 0, 0x07, 1, 0, 0},    // less than the largest window
		{0x28, 0xB5, 0x2F, 0xFD, 0x80, 0x88, 0, 0, 0, 0x40, 1, 0}, // with the largest window
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := zstdCodec().Decompress(nil, frame)
		runtime.ReadMemStats(&after)
		require.Error(t, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
	}
}

func TestTornStreamGivesWhatItHas(t *testing.T) {
	var file bytes.Buffer
	w, err := zstdCodec().NewWriter(&file, 0, -1)
	require.NoError(t, err)
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = byte(i * i >> 7)
	}
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	r, err := zstdCodec().NewReader(bytes.NewReader(file.Bytes()[:file.Len()-3]))
	require.NoError(t, err)
	defer r.Close()
	got, err := io.ReadAll(r)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NotEmpty(t, got)
	require.Equal(t, text[:len(got)], got)
}

package mcap

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mcaplib "github.com/foxglove/mcap/go/mcap"
	"github.com/stretchr/testify/require"

	"rosbagd/storage"
	"rosbagd/storage/storagetest"
)

// lexed is a file as the library's lexer sees it: the records one by one, of chunks as they stand there.
type lexed struct {
	data          []byte
	bodies        map[mcaplib.TokenType][][]byte
	chunks        []*mcaplib.Chunk
	statistics    *mcaplib.Statistics
	chunkIndexes  []*mcaplib.ChunkIndex
	dataEnd       *mcaplib.DataEnd
	footer        *mcaplib.Footer
	attachmentCRC uint32
	attached      string
}

// configured writes a file with everything in it: two topics, chunks, an attachment, a metadata record.
func configured(t *testing.T, preset, config string) (lexed, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.mcap")
	w, err := Format().Create(path, storage.CreateOptions{
		Preset: preset, Config: storage.Config{Path: "config.yaml", Data: []byte(config)}, Metadata: []byte("version: 9\n"),
	})
	require.NoError(t, err)
	defer w.Close()
	for _, name := range []string{"/a", "/b"} {
		_, err := w.AddTopic(storagetest.Topic(name))
		require.NoError(t, err)
	}
	extra, ok := w.(storage.ExtraWriter)
	require.True(t, ok)
	require.NoError(t, extra.WriteAttachment(storage.Attachment{
		Name: "map.pgm", MediaType: "image/x-portable-graymap", LogTimeNanos: 5, Size: 5, Data: strings.NewReader("P5 1 "),
	}))
	require.NoError(t, extra.WriteRecord(storage.Record{Name: "robot", Values: map[string]string{"serial": "7"}}))
	require.NoError(t, w.Write(configuredMessages()))
	require.NoError(t, w.Seal([]byte("version: 9\nmore: 1\n")))
	return lex(t, path), path
}

// configuredMessages are 400 KB, which compress.
func configuredMessages() []storage.Message {
	messages := storagetest.Messages(400, 0, 1)
	for i := range messages {
		messages[i].Data = append(messages[i].Data, bytes.Repeat([]byte{byte(i)}, 1000)...)
	}
	return messages
}

func lex(t *testing.T, path string) lexed {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	l := lexed{data: data, bodies: map[mcaplib.TokenType][][]byte{}}
	lexer, err := mcaplib.NewLexer(bytes.NewReader(data), &mcaplib.LexerOptions{
		EmitChunks: true, AttachmentCallback: func(a *mcaplib.AttachmentReader) error {
			content, err := io.ReadAll(a.Data())
			require.NoError(t, err)
			l.attached = string(content)
			l.attachmentCRC, err = a.ParsedCRC()
			return err
		},
	})
	require.NoError(t, err)
	defer lexer.Close()
	for {
		token, body, err := lexer.Next(nil)
		if errors.Is(err, io.EOF) {
			return l
		}
		require.NoError(t, err)
		l.bodies[token] = append(l.bodies[token], bytes.Clone(body))
		switch token {
		case mcaplib.TokenChunk:
			chunk, err := mcaplib.ParseChunk(body)
			require.NoError(t, err)
			l.chunks = append(l.chunks, chunk)
		case mcaplib.TokenChunkIndex:
			index, err := mcaplib.ParseChunkIndex(body)
			require.NoError(t, err)
			l.chunkIndexes = append(l.chunkIndexes, index)
		case mcaplib.TokenStatistics:
			l.statistics, err = mcaplib.ParseStatistics(body)
			require.NoError(t, err)
		case mcaplib.TokenDataEnd:
			l.dataEnd, err = mcaplib.ParseDataEnd(body)
			require.NoError(t, err)
		case mcaplib.TokenFooter:
			l.footer, err = mcaplib.ParseFooter(body)
			require.NoError(t, err)
		}
	}
}

func (l lexed) count(token mcaplib.TokenType) int { return len(l.bodies[token]) }

// TestConfigKeys looks at the records of a file with each key, beside those of one without.
func TestConfigKeys(t *testing.T) {
	plain, _ := configured(t, "", "")
	require.Len(t, plain.chunks, 1)
	require.NotZero(t, plain.chunks[0].UncompressedCRC)
	require.NotZero(t, plain.attachmentCRC)
	require.Zero(t, plain.dataEnd.DataSectionCRC)
	require.NotZero(t, plain.footer.SummaryCRC)
	require.Equal(t, 2, plain.count(mcaplib.TokenMessageIndex))
	require.Equal(t, 2, plain.count(mcaplib.TokenSchema))
	require.Equal(t, 4, plain.count(mcaplib.TokenChannel))
	require.Equal(t, 1, plain.count(mcaplib.TokenAttachmentIndex))
	require.Equal(t, 3, plain.count(mcaplib.TokenMetadataIndex))
	require.Equal(t, 1, plain.count(mcaplib.TokenChunkIndex))
	require.Equal(t, 6, plain.count(mcaplib.TokenSummaryOffset))
	require.Equal(t, "", plain.chunks[0].Compression)
	require.Equal(t, uint32(1), plain.statistics.AttachmentCount)
	require.Equal(t, uint32(3), plain.statistics.MetadataCount)

	for _, test := range []struct {
		config string
		check  func(*testing.T, lexed)
	}{
		{"noChunkCRC: true", func(t *testing.T, l lexed) { require.Zero(t, l.chunks[0].UncompressedCRC) }},
		{"noAttachmentCRC: true", func(t *testing.T, l lexed) { require.Zero(t, l.attachmentCRC) }},
		{"enableDataCRC: true", func(t *testing.T, l lexed) {
			end := bytes.LastIndex(l.data[:l.footer.SummaryStart], []byte{byte(mcaplib.OpDataEnd), 4, 0, 0, 0, 0, 0, 0, 0})
			require.Equal(t, crc32.ChecksumIEEE(l.data[:end]), l.dataEnd.DataSectionCRC)
		}},
		{"noSummaryCRC: true", func(t *testing.T, l lexed) { require.Zero(t, l.footer.SummaryCRC) }},
		{"noChunking: true", func(t *testing.T, l lexed) {
			require.Empty(t, l.chunks)
			require.Equal(t, 400, l.count(mcaplib.TokenMessage))
			require.Zero(t, l.count(mcaplib.TokenChunkIndex))
			require.Zero(t, l.count(mcaplib.TokenMessageIndex))
			require.Equal(t, uint64(400), l.statistics.MessageCount)
			require.Equal(t, map[uint16]uint64{1: 200, 2: 200}, l.statistics.ChannelMessageCounts)
		}},
		{"noMessageIndex: true", func(t *testing.T, l lexed) {
			require.Zero(t, l.count(mcaplib.TokenMessageIndex))
			require.Empty(t, l.chunkIndexes[0].MessageIndexOffsets)
			require.Zero(t, l.chunkIndexes[0].MessageIndexLength)
		}},
		{"noSummary: true", func(t *testing.T, l lexed) {
			require.Equal(t, mcaplib.Footer{}, *l.footer)
			require.Nil(t, l.statistics)
			require.Equal(t, 1, l.count(mcaplib.TokenSchema))
		}},
		{"chunkSize: 10000", func(t *testing.T, l lexed) {
			require.Greater(t, len(l.chunks), 40)
			for _, chunk := range l.chunks {
				require.LessOrEqual(t, chunk.UncompressedSize, uint64(10000))
			}
		}},
		{"chunkSize: 1", func(t *testing.T, l lexed) { require.Len(t, l.chunks, 400) }},
		{"chunkSize: 2147483648", func(t *testing.T, l lexed) { require.Len(t, l.chunks, 1) }},
		{"compression: None", func(t *testing.T, l lexed) { require.Empty(t, l.chunks[0].Compression) }},
		{"compression: Lz4", func(t *testing.T, l lexed) { require.Equal(t, "lz4", l.chunks[0].Compression) }},
		{"compression: Zstd", func(t *testing.T, l lexed) {
			require.Equal(t, "zstd", l.chunks[0].Compression)
			require.Equal(t, mcaplib.CompressionZSTD, l.chunkIndexes[0].Compression)
		}},
		{"compression: Zstd\nchunkSize: 100", func(t *testing.T, l lexed) {
			require.Len(t, l.chunks, 400)
			require.Equal(t, "zstd", l.chunks[0].Compression, "one message of over 1 KB")
		}},
		{"noRepeatedSchemas: true", func(t *testing.T, l lexed) {
			require.Equal(t, 1, l.count(mcaplib.TokenSchema))
			require.Empty(t, l.chunkIndexes, "an index needs the schemas of its channels")
		}},
		{"noRepeatedChannels: true", func(t *testing.T, l lexed) {
			require.Equal(t, 2, l.count(mcaplib.TokenChannel))
			require.Empty(t, l.statistics.ChannelMessageCounts, "counts need channels")
			require.Empty(t, l.chunkIndexes, "and so does an index")
		}},
		{"noAttachmentIndex: true", func(t *testing.T, l lexed) {
			require.Zero(t, l.count(mcaplib.TokenAttachmentIndex))
			require.Equal(t, "P5 1 ", l.attached)
		}},
		{"noMetadataIndex: true", func(t *testing.T, l lexed) {
			require.Zero(t, l.count(mcaplib.TokenMetadataIndex))
			require.Equal(t, 3, l.count(mcaplib.TokenMetadata))
		}},
		{"noChunkIndex: true", func(t *testing.T, l lexed) { require.Empty(t, l.chunkIndexes) }},
		{"noStatistics: true", func(t *testing.T, l lexed) { require.Nil(t, l.statistics) }},
		{"noSummaryOffsets: true", func(t *testing.T, l lexed) {
			require.Zero(t, l.count(mcaplib.TokenSummaryOffset))
			require.Zero(t, l.footer.SummaryOffsetStart)
		}},
		{"compressionLevel: Slowest # of nothing", func(t *testing.T, l lexed) { require.Equal(t, plain.data, l.data) }},
		{"forceCompression: true", func(t *testing.T, l lexed) { require.Equal(t, plain.data, l.data) }},
		{"# nothing at all", func(t *testing.T, l lexed) { require.Equal(t, plain.data, l.data) }},
		{"noSummary: false\nnoChunking: no", func(t *testing.T, l lexed) { require.Equal(t, plain.data, l.data) }},
	} {
		t.Run(strings.ReplaceAll(test.config, "\n", ", "), func(t *testing.T) {
			l, path := configured(t, "", test.config)
			test.check(t, l)

			// Whatever is left out, the messages are found, here and by the library, and nothing is wrong with the file.
			r := openFile(t, path)
			require.Equal(t, configuredMessages(), messagesOf(t, r))
			info := r.Info()
			require.Equal(t, uint64(400), info.MessageCount)
			require.Len(t, info.Topics, 2)
			require.Equal(t, uint64(200), info.Topics[1].MessageCount)
			require.Equal(t, "version: 9\nmore: 1\n", string(info.Metadata))
			require.Equal(t, 400, libraryCount(t, l.data))
			require.Equal(t, 400, libraryMessages(t, l.data))
			got := verifyBytes(t, l.data)
			require.Empty(t, got.worst(storage.Fault))
			require.Equal(t, 400, got.messages)
		})
	}
}

// libraryCount counts the messages with the library's lexer, which unpacks chunks and checks their sums.
func libraryCount(t *testing.T, data []byte) int {
	t.Helper()
	lexer, err := mcaplib.NewLexer(bytes.NewReader(data), &mcaplib.LexerOptions{ValidateChunkCRCs: true})
	require.NoError(t, err)
	defer lexer.Close()
	n := 0
	for {
		token, _, err := lexer.Next(nil)
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err)
		if token == mcaplib.TokenMessage {
			n++
		}
	}
}

// libraryMessages counts the messages that the library's reader finds through the index, as far as there is one.
func libraryMessages(t *testing.T, data []byte) int {
	t.Helper()
	r, err := mcaplib.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer func() { r.Close() }()
	info, err := r.Info()
	require.NoError(t, err)
	if len(info.ChunkIndexes) == 0 {
		r, err = mcaplib.NewReader(bytes.NewReader(data)) // Info went to the end
		require.NoError(t, err)
	}
	it, err := r.Messages(mcaplib.UsingIndex(len(info.ChunkIndexes) > 0))
	require.NoError(t, err)
	n := 0
	for {
		_, _, _, err := it.NextInto(nil)
		if errors.Is(err, io.EOF) {
			return n
		}
		require.NoError(t, err)
		n++
	}
}

// TestCompressionLevels checks that each step of a level costs or saves something, where there is one.
func TestCompressionLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	records := make([]byte, 0, 1<<20)
	value := int64(0)
	for len(records) < cap(records) {
		value += random.Int64N(2000) - 1000
		records = fmt.Appendf(records, "%d,", value)
	}
	for _, compression := range []string{"Lz4", "Zstd"} {
		sizes := map[string]int{}
		for _, level := range levelWords() {
			var o Options
			require.NoError(t, o.apply(storage.Config{
				Path: "x", Data: []byte("compression: " + compression + "\ncompressionLevel: " + level.text),
			}))
			c, err := newCompressor(o.Compression, o.CompressionLevel, o.limit())
			require.NoError(t, err)
			packed, err := c.compress(records[:1<<20])
			require.NoError(t, err)
			sizes[level.text] = len(packed)
			require.NoError(t, c.close())
		}
		require.Equal(t, sizes["Fastest"], sizes["Fast"])
		require.Greater(t, sizes["Fast"], sizes["Default"])
		require.GreaterOrEqual(t, sizes["Default"], sizes["Slow"])
		require.GreaterOrEqual(t, sizes["Slow"], sizes["Slowest"])
	}
}

// TestChunksThatDoNotCompressStayPlain: noise, and chunks too small for it, unless compression is forced.
func TestChunksThatDoNotCompressStayPlain(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for _, test := range []struct {
		name  string
		data  []byte
		force bool
		want  string
	}{
		{"noise", noise, false, ""},
		{"noise, forced", noise, true, "zstd"},
		{"small", make([]byte, 100), false, ""},
		{"small, forced", make([]byte, 100), true, "zstd"},
		{"zeros", make([]byte, 100_000), false, "zstd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, path := newWriter(t, Options{Compression: CompressionZstd, ForceCompression: test.force})
			require.NoError(t, w.Write([]storage.Message{{Data: test.data}}))
			require.NoError(t, w.Seal(nil))
			l := lex(t, path)
			require.Equal(t, test.want, l.chunks[0].Compression)
			require.Equal(t, test.want, string(l.chunkIndexes[0].Compression))
			require.Equal(t, test.data, messagesOf(t, openFile(t, path))[0].Data)
		})
	}
}

func TestPresets(t *testing.T) {
	for preset, want := range map[string]struct {
		compression string
		crc         bool
	}{"none": {"", true}, "": {"", true}, "fastwrite": {"", false}, "zstd_fast": {"zstd", true}, "zstd_small": {"zstd", true}} {
		l, _ := configured(t, preset, "")
		require.Equal(t, want.compression, l.chunks[0].Compression, preset)
		require.Equal(t, want.crc, l.chunks[0].UncompressedCRC != 0, preset)
	}
	l, _ := configured(t, "zstd_small", "compression: Lz4\nchunkSize: 5000")
	require.Equal(t, "lz4", l.chunks[0].Compression, "the config is applied over the preset")
	require.Greater(t, len(l.chunks), 80)
}

func TestBadConfigsAreNamedInOneLine(t *testing.T) {
	for _, test := range []struct{ config, want string }{
		{"compression: zstd", `storage config dir/c.yaml:1: compression: unknown word "zstd" (known: None, Lz4, Zstd)`},
		{"noSummary: true\ncompressionLevel: fastest", `storage config dir/c.yaml:2: compressionLevel: unknown word "fastest" (known: Fastest, Fast, Default, Slow, Slowest)`},
		{"# a comment\n\nnoChunkCrc: true", `storage config dir/c.yaml:3: noChunkCrc: unknown key, did you mean noChunkCRC?`},
		{"noChunkCRC: maybe", `storage config dir/c.yaml:1: noChunkCRC: "maybe" is neither true nor false`},
		{"noChunkCRC: 1", `storage config dir/c.yaml:1: noChunkCRC: "1" is neither true nor false`},
		{"noChunkCRC:", `storage config dir/c.yaml:1: noChunkCRC: needs a value`},
		{"compression: ''", `storage config dir/c.yaml:1: compression: needs a value`},
		{"noChunkCRC: [true]", `storage config dir/c.yaml:1: noChunkCRC: needs a value`},
		{"chunkSize: 0", `storage config dir/c.yaml:1: chunkSize: "0" is no number of bytes from 1 to 2147483648`},
		{"chunkSize: 2147483649", `storage config dir/c.yaml:1: chunkSize: "2147483649" is no number of bytes from 1 to 2147483648`},
		{"chunkSize: -1", `storage config dir/c.yaml:1: chunkSize: "-1" is no number of bytes from 1 to 2147483648`},
		{"chunkSize: 1.5", `storage config dir/c.yaml:1: chunkSize: "1.5" is no number of bytes from 1 to 2147483648`},
		{"chunkSize: 1MB", `storage config dir/c.yaml:1: chunkSize: "1MB" is no number of bytes from 1 to 2147483648`},
		{"noSummary: true\nnoSummary: false", `storage config dir/c.yaml:2: noSummary: given twice, first in line 1`},
		{"- noSummary", `storage config dir/c.yaml:1: not a map of keys and values`},
		{"just words", `storage config dir/c.yaml:1: not a map of keys and values`},
		{"noSummary: true\n---\nnoSummary: true", `storage config dir/c.yaml: more than one YAML document`},
		{"[1, 2]: true", `storage config dir/c.yaml:1: : unknown key`},
		{"a: [", `storage config dir/c.yaml: yaml: line 1: did not find expected node content`},
	} {
		path := filepath.Join(t.TempDir(), "x.mcap")
		_, err := Format().Create(path, storage.CreateOptions{
			Config: storage.Config{Path: "dir/c.yaml", Data: []byte(test.config)},
		})
		require.Error(t, err, test.config)
		require.True(t, strings.HasPrefix(err.Error(), test.want), err.Error())
		require.NotContains(t, err.Error(), "\n")
		require.NoFileExists(t, path)
	}
}

func FuzzConfig(f *testing.F) {
	for _, word := range levelWords() {
		f.Add("compressionLevel: " + word.text)
	}
	f.Add("noChunkCRC: true\nnoSummary: yes\nchunkSize: 0x1000\ncompression: Zstd\n")
	f.Add("a: &x true\nnoSummary: *x\n")
	f.Add("<<: {noSummary: true}\n")
	f.Add("noSummary: true\n---\nnoSummary: true\n")
	f.Add("{noSummary: ~, chunkSize: 1e3}")
	f.Add("\ufeffchunkSize: !!int '7'")
	f.Fuzz(func(t *testing.T, config string) {
		options := Options{ChunkSize: 3}
		err := options.apply(storage.Config{Path: "c.yaml", Data: []byte(config)})
		if err != nil {
			require.Equal(t, Options{ChunkSize: 3}, options, "what is wrong changes nothing")
			require.True(t, strings.HasPrefix(err.Error(), "storage config c.yaml:"), err.Error())
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Positive(t, options.limit())
		require.LessOrEqual(t, options.limit(), maxMessage)
		_, err = newCompressor(options.Compression, options.CompressionLevel, options.limit())
		require.NoError(t, err)
	})
}

package sqlite3

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ownPrefix begins a comment behind the newest copy of the bag's metadata, which tells of all files of the bag. It is for
// this program: no other one sees anything in a comment.
const ownPrefix = "# this file: "

// ownCounts is what the comment tells of the messages of the file that it is in, as JSON.
type ownCounts struct {
	Start  int64    `json:"start"`
	End    int64    `json:"end"`
	Topics []uint64 `json:"topics"` // messages by topic; the row id of a topic is its index + 1
}

// withOwn adds what the writer has counted to a copy of the bag's metadata.
func (w *Writer) withOwn(metadata []byte) ([]byte, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	own := ownCounts{Start: w.total.start, End: w.total.end, Topics: []uint64{}}
	for _, topic := range w.topics {
		own.Topics = append(own.Topics, topic.MessageCount)
	}
	text, err := json.Marshal(own)
	if err != nil {
		return nil, fmt.Errorf("describe file: %w", err)
	}
	result := append(bytes.Clone(metadata), "\n"+ownPrefix...)
	return append(append(result, text...), '\n'), nil
}

// cutOwn takes the comment off.
func cutOwn(text []byte) (metadata, own []byte) {
	at := bytes.LastIndex(text, []byte("\n"+ownPrefix))
	if at < 0 {
		return text, nil
	}
	line, rest, _ := bytes.Cut(text[at+1+len(ownPrefix):], []byte("\n"))
	if len(rest) > 0 {
		return text, nil
	}
	return text[:at], line
}

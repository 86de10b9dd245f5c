package definition

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// InquiryType is the service with which a node is asked for the description of a type.
const InquiryType = "type_description_interfaces/srv/GetTypeDescription"

// EncodeInquiry is a serialized request of InquiryType, for the sources too.
func EncodeInquiry(typ, hash string) []byte {
	data := []byte{0, 1, 0, 0} // CDR, little endian
	for _, text := range []string{typ, hash} {
		for len(data)%4 != 0 {
			data = append(data, 0)
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(len(text)+1))
		data = append(append(data, text...), 0)
	}
	return append(data, 1)
}

// errShort says that a response ends too early.
var errShort = errors.New("it ends too early")

// DecodeAnswer reads a serialized response of InquiryType. An error tells what is wrong with it, or in the words of
// the node why it has no answer.
func DecodeAnswer(data []byte) (Description, []Source, error) {
	d, sources, err := decodeAnswer(data)
	if err != nil {
		return Description{}, nil, fmt.Errorf("read type description: %w", err)
	}
	return d, sources, nil
}

func decodeAnswer(data []byte) (Description, []Source, error) {
	if len(data) > maxAnswer {
		return Description{}, nil, fmt.Errorf("its %d bytes are more than any type needs", len(data))
	}
	if len(data) < 4 || data[0] != 0 || data[1] > 1 {
		return Description{}, nil, errors.New("it is no plain CDR")
	}
	r := cdrReader{data: data[4:], order: binary.BigEndian}
	if data[1] == 1 {
		r.order = binary.LittleEndian
	}
	successful := r.byte() != 0
	reason := r.string()
	d := Description{Type: r.individual()}
	for n := r.count(minIndividual); n > 0; n-- {
		d.Referenced = append(d.Referenced, r.individual())
	}
	var sources []Source
	for n := r.count(minSource); n > 0; n-- {
		sources = append(sources, Source{TypeName: r.string(), Encoding: r.string(), Text: r.string()})
	}
	switch { // what follows is of no interest
	case r.failed:
		return Description{}, nil, errShort
	case !successful:
		return Description{}, nil, fmt.Errorf("the node says: %.200q", reason)
	}
	return d, sources, nil
}

// The fewest bytes that an element can have: a count is checked against what is there before memory is taken for it.
const (
	minString     = 4
	minIndividual = minString + 4
	minField      = minString + 1 + 8 + 8 + minString + minString
	minSource     = 3 * minString
)

// cdrReader reads XCDR1. After a failure everything reads as zero.
type cdrReader struct {
	data   []byte // without the encapsulation header, from which alignment counts
	at     int
	order  binary.ByteOrder
	failed bool
}

func (r *cdrReader) take(size, align int) []byte {
	start := (r.at + align - 1) / align * align
	if r.failed || size < 0 || start > len(r.data) || size > len(r.data)-start {
		r.failed = true
		return nil
	}
	r.at = start + size
	return r.data[start:r.at]
}

func (r *cdrReader) byte() uint8 {
	if b := r.take(1, 1); b != nil {
		return b[0]
	}
	return 0
}

func (r *cdrReader) uint32() uint32 {
	if b := r.take(4, 4); b != nil {
		return r.order.Uint32(b)
	}
	return 0
}

func (r *cdrReader) uint64() uint64 {
	if b := r.take(8, 8); b != nil {
		return r.order.Uint64(b)
	}
	return 0
}

// string reads a text with its length and its closing zero; some senders leave the zero of an empty text out.
func (r *cdrReader) string() string {
	size := r.uint32()
	if size == 0 || r.failed {
		return ""
	}
	b := r.take(int(size), 1)
	if b == nil || b[len(b)-1] != 0 {
		r.failed = true
		return ""
	}
	return string(b[:len(b)-1])
}

// count reads how many elements of at least so many bytes follow.
func (r *cdrReader) count(least int) int {
	n := r.uint32()
	if r.failed || uint64(n)*uint64(least) > uint64(len(r.data)-r.at) {
		r.failed = true
		return 0
	}
	return int(n)
}

func (r *cdrReader) individual() Type {
	t := Type{Name: r.string()}
	for n := r.count(minField); n > 0 && !r.failed; n-- {
		t.Fields = append(t.Fields, Field{
			Name: r.string(),
			Type: FieldType{
				ID: r.byte(), Capacity: r.uint64(), StringCapacity: r.uint64(), Nested: r.string(),
			},
			Default: r.string(),
		})
	}
	return t
}

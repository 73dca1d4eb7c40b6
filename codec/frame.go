package codec

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
)

// Frame is the beginning of the scores messages that a schema registry knows: a zero byte and the id of their schema,
// the highest byte first. Encoders of one stage share it; it may be used by several goroutines at once. Before Set the
// id is 0: messages have their final length, so a replay needs no registry.
type Frame struct{ id atomic.Uint32 }

// Set sets the id of the schema.
func (f *Frame) Set(id uint32) { f.id.Store(id) }

// append appends the frame; nil appends nothing.
func (f *Frame) append(dst []byte) []byte {
	if f == nil {
		return dst
	}
	return binary.BigEndian.AppendUint32(append(dst, frameMagic), f.id.Load())
}

// SameScores reports whether two scores messages of a stage are equal but for the id of the schema in their frames.
func (f *Frame) SameScores(a, b []byte) bool {
	if f != nil && len(a) >= frameBytes && len(b) >= frameBytes && a[0] == b[0] {
		a, b = a[frameBytes:], b[frameBytes:]
	}
	return bytes.Equal(a, b)
}

// Single reports whether each message of the format has one row.
func (f Format) Single() bool { return f == FormatJSON || f == FormatAvro }

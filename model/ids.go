package model

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"liftstream/model/wire"
)

// IDSum is how a state names an id without the id: the first half of its SHA-256.
type IDSum [16]byte

// SumID returns the sum of an id.
func SumID(id string) IDSum { return sumOf([]byte(id)) }

func sumOf(id []byte) (s IDSum) {
	sum := sha256.Sum256(id)
	copy(s[:], sum[:])
	return s
}

// who is the number by which the tail and the reservoir know the id of a record, never 0.
func (s IDSum) who() uint64 { return max(binary.LittleEndian.Uint64(s[:8]), 1) }

// whoOf is IDSum.who of an id, 0 of "".
func whoOf(p *Partition, id string) uint64 {
	if id == "" {
		return 0
	}
	p.text = append(p.text[:0], id...)
	return sumOf(p.text).who()
}

// Sections of the ids of learnt records. A part of the tail, or a reservoir, that knows no id has none, so that the
// bytes of a state without ids are those of builds that do not know them.
const (
	// IDSections begins their names.
	IDSections   = "ids/"
	idsReservoir = "reservoir"
	idsFormat    = 1
)

func idsName(of string) string { return IDSections + of }

// idSections returns the sections of the ids of the tail and the reservoir.
func (s *sample) idSections() (out []Section) {
	for c, version := range s.tail.version {
		lo, hi := c*tailChunk, min((c+1)*tailChunk, len(s.tail.who))
		if anyKnown(s.tail.who[lo:hi]) {
			out = append(out, Section{idsName(strconv.Itoa(c)), version,
				func(b []byte) []byte { return writeWho(b, s.tail.who[lo:hi]) }})
		}
	}
	who := make([]uint64, len(s.reservoir.items))
	for i := range who {
		who[i] = s.reservoir.items[i].who
	}
	if anyKnown(who) {
		out = append(out, Section{idsName(idsReservoir), s.reservoir.version,
			func(b []byte) []byte { return writeWho(b, who) }})
	}
	return out
}

func anyKnown(who []uint64) bool {
	return slices.ContainsFunc(who, func(v uint64) bool { return v != 0 })
}

// NamesAll reports whether a section of a state, of that name, holds the id of each of its records, or is none of ids.
// A record that a former build has learnt has none.
func NamesAll(name string, section []byte) bool {
	if !strings.HasPrefix(name, IDSections) {
		return true
	}
	who, err := appendWho(nil, section, (len(section)-1)/8)
	return err == nil && !slices.Contains(who, 0)
}

// writeWho appends the form of a section of ids: the format, then eight bytes for each record.
func writeWho(b []byte, who []uint64) []byte {
	b = wire.AppendUvarint(b, idsFormat)
	for _, v := range who {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// appendWho is the inverse of writeWho for n records. Of a state without the section no id is known.
func appendWho(who []uint64, b []byte, n int) ([]uint64, error) {
	if len(b) == 0 {
		return append(who, make([]uint64, n)...), nil
	}
	r := wire.NewReader(b)
	if f := r.Uvarint(); r.Err() == nil && f != idsFormat {
		return nil, fmt.Errorf("ids of format %d, this build reads %d", f, idsFormat)
	}
	if r.Err() == nil && r.Rest() != 8*n {
		return nil, fmt.Errorf("%d bytes of the ids of %d records", r.Rest(), n)
	}
	for b = r.Take(8 * n); len(b) > 0; b = b[8:] {
		who = append(who, binary.LittleEndian.Uint64(b))
	}
	return who, r.Done()
}

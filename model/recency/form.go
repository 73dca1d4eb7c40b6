package recency

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"liftstream/model/wire"
)

// Format is the version of the binary form of a Store, stream/state/FORMAT.md.
const Format = 1

// maxSpans bounds the spans of a key: the rule of merge leaves fewer than 1,300 of 2^53 records.
const maxSpans = 4096

// Chunks is the number of chunks of AppendChunk.
const Chunks = chunks

// AppendHead appends the settings and the sizes of a store.
func (s *Store) AppendHead(b []byte) []byte {
	b = wire.AppendUvarint(b, Format)
	b = wire.AppendUvarint(b, uint64(s.o.Bytes))
	b = wire.AppendUvarint(b, uint64(s.o.Window))
	b = wire.AppendStrings(b, s.o.Groups)
	b = wire.AppendUvarint(b, s.evicted)
	for _, m := range s.keys {
		b = wire.AppendUvarint(b, uint64(len(m)))
	}
	return b
}

// Chunk returns the number of keys in a chunk, and a version that differs where its bytes do, within one process.
func (s *Store) Chunk(c int) (keys int, version uint64) { return len(s.keys[c]), s.version[c] }

// AppendChunk appends the keys of a chunk in their order.
func (s *Store) AppendChunk(b []byte, c int) []byte {
	keys := make([]key, 0, len(s.keys[c]))
	for k := range s.keys[c] {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	for _, k := range keys {
		h := s.keys[c][k]
		b = append(b, k.id[:]...)
		b = wire.AppendUvarint(b, uint64(k.group))
		b = wire.AppendVarint(b, h.stamp)
		b = wire.AppendUvarint(b, uint64(len(h.spans)))
		at := h.stamp
		for _, x := range h.spans {
			b = wire.AppendVarint(b, x.newest-at) // may overflow, and comes back the same way
			b = wire.AppendUvarint(b, uint64(x.n))
			if at = x.newest; x.n > 1 {
				b = wire.AppendUvarint(b, distance(x.oldest, x.newest))
			}
		}
	}
	return b
}

// ReadHead reads the head of a store into an empty one, and the number of keys of each chunk. It checks the settings
// and no more: LoadChunk checks the keys.
func ReadHead(r *wire.Reader) (s *Store, keys [Chunks]uint64, err error) {
	if f := r.Uvarint(); r.Err() == nil && f != Format {
		return nil, keys, fmt.Errorf("format %d, this build reads %d", f, Format)
	}
	bound, window := r.Uvarint(), r.Uvarint()
	o := Options{Groups: r.Strings(MaxGroups)}
	evicted := r.Uvarint()
	for c := range keys {
		keys[c] = r.Uvarint()
	}
	if r.Err() != nil {
		return nil, keys, r.Err()
	}
	if bound > math.MaxInt64 || window > math.MaxInt64/2 || len(o.Groups) == 0 {
		return nil, keys, fmt.Errorf("%d bytes, a window of %d and %d groups", bound, window, len(o.Groups))
	}
	o.Bytes, o.Window = int64(bound), int64(window)
	s = New(o)
	s.evicted = evicted
	return s, keys, nil
}

// LoadChunk reads the n keys of a chunk. An error leaves a store that must be dropped.
func (s *Store) LoadChunk(b []byte, c int, n uint64) error {
	r := wire.NewReader(b)
	var last key
	for i := uint64(0); i < n && r.Err() == nil; i++ {
		var k key
		copy(k.id[:], r.Take(len(k.id)))
		k.group = uint8(r.Int(len(s.o.Groups) - 1))
		h := &history{stamp: r.Varint()}
		if err := h.read(r); err != nil {
			return err
		}
		if i > 0 && compareKeys(last, k) >= 0 || k.chunk() != c {
			return r.Fail(fmt.Errorf("id %d is out of order", i))
		}
		last = k
		s.keys[c][k] = h
		s.n++
		if s.bytes += KeyBytes + SpanBytes*int64(len(h.spans)); s.bytes > s.o.Bytes {
			return r.Fail(fmt.Errorf("more than %d bytes", s.o.Bytes))
		}
	}
	return r.Done()
}

// read reads the spans.
func (h *history) read(r *wire.Reader) error {
	n := r.Int(maxSpans)
	if r.Err() == nil && n == 0 {
		return r.Fail(errors.New("an id without a time"))
	}
	at := h.stamp
	for i := 0; i < n && r.Err() == nil; i++ {
		x := span{newest: at + r.Varint()}
		count := r.Uvarint()
		if x.oldest = x.newest; count > 1 {
			x.oldest = int64(uint64(x.newest) - r.Uvarint())
		}
		x.n = int64(count)
		if r.Err() == nil && (count == 0 || count > 1<<53 || x.oldest > x.newest || i > 0 && x.newest < h.spans[i-1].newest) {
			return r.Fail(fmt.Errorf("span %d: %d records from %d to %d", i, count, x.oldest, x.newest))
		}
		h.spans, at = append(h.spans, x), x.newest
	}
	return r.Err()
}

// Serves reports whether the store has these settings.
func (s *Store) Serves(o Options) bool {
	return s.o.Bytes == o.Bytes && s.o.Window == o.Window && slices.Equal(s.o.Groups, o.Groups)
}

package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model/wire"
	"liftstream/stream/internal/sample"
	"liftstream/stream/txn"
)

// records are one value of each kind, in a given format, with their readers.
func records() map[string]struct {
	value func(format int) []byte
	read  func(value []byte, newest int) error
} {
	type record = struct {
		value func(format int) []byte
		read  func(value []byte, newest int) error
	}
	reframed := func(value []byte) func(int) []byte { // of a record that stays in the oldest format
		payload, _, _ := Unseal(value, 1)
		return func(format int) []byte { return Seal(payload, format) }
	}
	skip := &Skip{Stage: "events", Offset: 3, Why: "why"}
	return map[string]record{
		"manifest": {func(f int) []byte { return (&Manifest{Format: f, Number: 3}).Encode() },
			func(v []byte, n int) error { _, err := DecodeManifest(v, n); return err }},
		"journal": {func(f int) []byte { return JournalEntry{Number: 3, Format: f}.Encode() },
			func(v []byte, n int) error { _, err := DecodeJournal(v, n); return err }},
		"judged": {Judgement{Number: 3}.Encode, func(v []byte, n int) error { _, err := DecodeJudgement(v, n); return err }},
		"done": {Done{Number: 3, Events: 5}.Encode,
			func(v []byte, n int) error { _, err := DecodeDone(v, n); return err }},
		"owner": {reframed(Owner{Stage: "s", Events: "e"}.Encode()),
			func(v []byte, n int) error { _, err := DecodeOwner(v, n); return err }},
		"seen": {reframed(Seen{Events: Message{Next: 3}}.Encode()),
			func(v []byte, n int) error { _, err := DecodeSeen(v, n); return err }},
		"skip": {skip.Encode, func(v []byte, n int) error { _, err := DecodeSkip(skip.Key(), v, n); return err }},
		"verdict": {(&GateVerdict{Number: 3}).encode,
			func(v []byte, n int) error { _, err := decodeVerdict(v, n); return err }},
	}
}

// Each reader refuses a frame of a newer build by its type, a damaged one, and bytes behind the last value.
func TestReadersCheckTheFrame(t *testing.T) {
	for name, x := range records() {
		good := x.value(1)
		if err := x.read(good, 1); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var newer *FormatError
		if err := x.read(x.value(2), 1); !errors.As(err, &newer) || newer.Format != 2 || newer.Newest != 1 {
			t.Errorf("%s of format 2: %v", name, err)
		}
		if err := x.read(x.value(2), 2); err != nil {
			t.Errorf("%s of format 2, which is read: %v", name, err)
		}
		for i := range good {
			for bit := range 8 {
				bad := slices.Clone(good)
				bad[i] ^= 1 << bit
				if err := x.read(bad, 1); err == nil || !strings.Contains(err.Error(), "checksum") {
					t.Errorf("%s with bit %d of byte %d turned: %v", name, bit, i, err)
				}
			}
			if err := x.read(good[:i], 1); err == nil {
				t.Errorf("%s is read from %d of its %d bytes", name, i, len(good))
			}
		}
		payload, _, _ := Unseal(good, 1)
		for _, bad := range [][]byte{append(slices.Clone(payload), 0), payload[:len(payload)-1], nil} {
			if err := x.read(Seal(bad, 1), 1); err == nil {
				t.Errorf("%s is read from the payload % x, its own is % x", name, bad, payload)
			}
		}
	}
	zero := binary.LittleEndian.AppendUint32([]byte{0}, crc32.Checksum([]byte{0}, castagnoli))
	if _, _, err := Unseal(zero, 1); err == nil || !strings.Contains(err.Error(), "format 0") {
		t.Errorf("format 0: %v", err)
	}
}

func TestUnpackChecksItsPieces(t *testing.T) {
	raw := bytes.Repeat([]byte("section "), 100)
	s, frames := NewPacker().pack(raw, 1)
	piece, _, err := Unseal(frames[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(frames[0])
	damaged[3] ^= 1
	garbage := slices.Clone(piece)
	garbage[0] ^= 0xff
	with := func(change func(b *Blob)) Blob {
		b := s
		change(&b)
		return b
	}
	for name, c := range map[string]struct {
		blob   Blob
		pieces [][]byte
		want   string
	}{
		"as it was written":  {s, frames, ""},
		"in two pieces":      {with(func(b *Blob) { b.Chunks = 2 }), [][]byte{Seal(piece[:9], 1), Seal(piece[9:], 1)}, ""},
		"a missing piece":    {with(func(b *Blob) { b.Chunks = 2 }), frames, "chunk 1 of 2 is not there"},
		"a damaged piece":    {s, [][]byte{damaged}, "chunk 0: checksum"},
		"one of a later one": {s, [][]byte{Seal(piece, 2)}, "chunk 0: format 2"},
		"a short piece":      {s, [][]byte{Seal(piece[:len(piece)-1], 1)}, "bytes where"},
		"a long piece":       {s, [][]byte{Seal(append(slices.Clone(piece), 0), 1)}, "bytes where"},
		"no zstd":            {s, [][]byte{Seal(garbage, 1)}, "decompressing"},
		"another length":     {with(func(b *Blob) { b.Length++ }), frames, "checksum mismatch"},
		"another checksum":   {with(func(b *Blob) { b.CRC++ }), frames, "checksum mismatch"},
		"more than it can hold": {with(func(b *Blob) { b.Length = zstdBlock*(len(piece)/4+1) + 1 }), frames,
			"bytes announced, which"},
		"pieces beyond count": {with(func(b *Blob) { b.Chunks = -1 }), frames, "more chunks than"},
	} {
		got, err := unpack(c.blob, 1, func(i int) []byte {
			if i < len(c.pieces) {
				return c.pieces[i]
			}
			return nil
		})
		switch {
		case c.want == "" && (err != nil || !bytes.Equal(got, raw)):
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// More pieces than any size of piece explains would cost a look for each.
func TestBlobsHaveAsManyPiecesAsTheirBytesFill(t *testing.T) {
	for _, c := range []struct {
		blob   Blob
		chunks int
	}{
		{Blob{Chunks: 1 << 12, Packed: 1}, 1 << 12},
		{Blob{Chunks: 1<<12 + 1, Packed: 1}, -1},
		{Blob{Chunks: 1 << 13, Packed: leastChunk << 13}, 1 << 13},
		{Blob{Chunks: 1<<13 + 2, Packed: leastChunk << 13}, -1},
	} {
		r := wire.NewReader(c.blob.AppendBinary(nil))
		if got := readBlob(r); r.Done() != nil || got.Chunks != c.chunks {
			t.Errorf("%+v is read with %d chunks, want %d: %v", c.blob, got.Chunks, c.chunks, r.Err())
		}
	}
	b := wire.AppendUvarint(nil, 1)
	b = wire.AppendUvarint(wire.AppendUvarint(wire.AppendUvarint(b, maxSection+1), 0), 0)
	if r := wire.NewReader(b); readBlob(r) != (Blob{}) && r.Err() == nil {
		t.Error("a blob beyond every bound is read")
	}
}

func TestDoneRecordsThatNoStageWrites(t *testing.T) {
	for name, d := range map[string]Done{
		"events beyond the count":  {Number: 1, Events: MaxNumber + 1, EventsFrom: MaxNumber + 1, Answered: MaxNumber + 1},
		"labels beyond the count":  {Number: 1, Labels: MaxNumber + 1, LabelsFrom: MaxNumber + 1},
		"labels below 0":           {Number: 1, Labels: -1, LabelsFrom: -1},
		"answered below 0":         {Number: 1, Events: 1, Answered: -1},
		"scores below 0":           {Number: 1, ScoresFrom: -1},
		"fewer than no letters":    {Number: 1, DeadLetters: -1},
		"letters from below 0":     {Number: 1, DeadFrom: -1},
		"events from below 0":      {Number: 1, Events: 1, EventsFrom: -1},
		"a number beyond the last": {Number: MaxNumber},
	} {
		if _, err := DecodeDone(d.Encode(1), 1); err == nil {
			t.Errorf("%s: %+v is taken", name, d)
		}
	}
	for _, c := range []struct {
		offset txn.GroupOffset
		number uint64
		ok     bool
	}{
		{txn.GroupOffset{Offset: 0, Note: "liftstream/7"}, 7, true},
		{txn.GroupOffset{Offset: -1, Note: "liftstream/7"}, 0, false},
		{txn.GroupOffset{Offset: 4, Note: "7"}, 0, false},
		{txn.GroupOffset{Offset: 4, Note: "liftstream/x"}, 0, false},
		{txn.GroupOffset{Offset: 4, Note: "liftstream/9007199254740992"}, 0, false},
		{txn.GroupOffset{Offset: 4}, 0, false},
	} {
		if n, ok := Noted(c.offset); ok != c.ok || ok && n != c.number {
			t.Errorf("%+v: %d, %v", c.offset, n, ok)
		}
	}
}

// A checksum of more than 32 bits is none.
func TestSeenRecordsThatNoStageWrites(t *testing.T) {
	b := wire.AppendUvarint(wire.AppendVarint(nil, 3), 1<<32)
	b = wire.AppendUvarint(wire.AppendVarint(b, 0), 0)
	if s, err := DecodeSeen(Seal(b, 1), 1); err == nil {
		t.Errorf("%+v is taken", s)
	}
}

// Keys of the model topic that no trainer writes are passed over.
func TestForeignKeysOfTheModelTopic(t *testing.T) {
	piece := Seal([]byte("x"), 1)
	version := func(v uint64) []byte { return Seal((&Blob{Chunks: 1}).AppendBinary(wire.AppendUvarint(nil, v)), 1) }
	for _, c := range []struct {
		key   string
		value []byte
		held  bool
	}{
		{"model/3/0", piece, true}, {"model/-3/0", piece, false}, {"model/3/-1", piece, false},
		{"model/9007199254740992/0", piece, false}, {"model/03/0", piece, false}, {"model/3", piece, false},
		{"model/3/0", make([]byte, chunkBytes+6), false}, {"model/3/0", make([]byte, chunkBytes+5), true},
		{"version/3", version(3), true}, {"version/3", version(4), false}, {"version/0", version(0), false},
		{"version/9007199254740992", version(MaxNumber), false}, {"version/03", version(3), false},
		{"version/3", append(version(3), 0), false},
		{"version/3", Seal((&Blob{Chunks: 1, Length: maxModel + 1}).AppendBinary([]byte{3}), 1), false},
		{"version/3", Seal((&Blob{Chunks: 1, Packed: maxModel + 1}).AppendBinary([]byte{3}), 1), false},
		{"verdict/3", (&GateVerdict{Number: 3}).encode(1), true}, {"verdict/35", (&GateVerdict{Number: 35}).encode(1), false},
		{"verdict/4", (&GateVerdict{Number: 3}).encode(1), false}, {"verdict/-1", (&GateVerdict{}).encode(1), false},
		{"other/3", piece, false},
	} {
		l := NewModels(nil, "", sample.Schema)
		l.apply(c.key, c.value)
		if held := len(l.values)+len(l.blobs)+len(l.verdicts) > 0; held != c.held {
			t.Errorf("%s, %d bytes: held %v, want %v", c.key, len(c.value), held, c.held)
		}
	}
	if _, err := decodeVerdict((&GateVerdict{Number: MaxNumber}).encode(1), 1); err == nil {
		t.Error("a verdict beyond the last number is read")
	}
}

// Values that no stage writes, larger ones, and those beyond the limit are left out and counted.
func TestForeignRecordsOfTheStateTopic(t *testing.T) {
	full := make([]byte, JournalBytes)
	for _, c := range []struct {
		key  string
		size int
		held bool
	}{
		{"done", JournalBytes, true}, {"done", JournalBytes + 1, false}, {"done/1", 5, false}, {"begin", 5, true},
		{"bootstrap", JournalBytes, true}, {"bootstrap", JournalBytes + 1, false}, {"bootstrap/0", 5, false},
		{"seen", 5, true}, {"seen/", 5, false}, {"owner", ownerBytes, true}, {"owner", ownerBytes + 1, false},
		{"owner/s", 5, false}, {"journal/0", JournalBytes, true}, {"journal/0", JournalBytes + 1, false},
		{"journal/4095", 5, true}, {"journal/4096", 5, false}, {"journal/-1", 5, false}, {"journal/01", 5, false},
		{"journal/", 5, false}, {"judged/7", 5, true}, {"judged/4096", 5, false}, {"manifest/1", 5, true},
		{"manifest/2", 5, false}, {"manifest/1", maxManifest + 1, false}, {"skip/events/3", skipBytes, true},
		{"skip/events/3", skipBytes + 1, false}, {"skip/labels/3", 5, true}, {"skip/scores/3", 5, false},
		{"skip/events/-3", 5, false}, {"skip/events/03", 5, false}, {"part/core/0/0", chunkBytes + 5, true},
		{"part/core/0/0", chunkBytes + 6, false}, {"part/tail/7/2/9", 5, true}, {"part/core/3/0", 5, false},
		{"part/core/0/-1", 5, false}, {"part/0/0", 5, false}, {"part/" + strings.Repeat("x", 252) + "/0/0", 5, false},
		{"something", 5, false}, {"", 5, false},
	} {
		l := NewLog()
		l.Apply([]byte(c.key), make([]byte, c.size))
		if held := len(l.values) == 1; held != c.held || held == (l.Foreign == 1) {
			t.Errorf("%q of %d bytes: held %v, %d foreign", c.key, c.size, held, l.Foreign)
		}
	}
	l := NewLog()
	l.Limit = 3 * JournalBytes
	for i := range uint64(5) {
		l.Apply([]byte(JournalKey(i)), full)
	}
	if len(l.values) != 3 || l.Foreign != 2 {
		t.Errorf("%d values are held, %d are foreign", len(l.values), l.Foreign)
	}
	l.Apply([]byte(JournalKey(0)), full) // in place of the one before
	l.Apply([]byte(JournalKey(1)), nil)
	l.Apply([]byte(JournalKey(7)), full)
	if len(l.values) != 3 || l.Foreign != 2 || l.bytes != l.Limit {
		t.Errorf("%d values of %d bytes are held, %d are foreign", len(l.values), l.bytes, l.Foreign)
	}
}

func TestSectionsThatNoConfigurationHas(t *testing.T) {
	raw := bytes.Repeat([]byte("section "), 100)
	blob, frames := NewPacker().pack(raw, 1)
	s := Stored{Name: "core", Slot: 1, Blob: blob}
	l := NewLog()
	l.Apply([]byte(s.key(0)), frames[0])
	other := s
	other.Name = "levels"
	l.Apply([]byte(other.key(0)), frames[0])
	for _, c := range []struct {
		limit    int
		sections []Stored
		want     string
	}{
		{2 * len(raw), []Stored{s, other}, ""},
		{2*len(raw) - 1, []Stored{s, other}, "cannot have written"},
		{len(raw) - 1, []Stored{s}, "cannot have written"},
		{4 * len(raw), []Stored{s, s}, "core is named twice"},
		{4 * len(raw), []Stored{{Name: "tail", Blob: blob}}, "section tail: chunk 0 of 1 is not there"},
	} {
		l.Limit = int64(c.limit)
		got, err := l.Sections(&Manifest{Number: 7, Sections: c.sections})
		if c.want == "" && (err != nil || len(got) != len(c.sections)) ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "7")) {
			t.Errorf("%d sections, limit %d: %d, %v; want %s", len(c.sections), c.limit, len(got), err, c.want)
		}
	}
	l.Limit = int64(len(raw)) - 1
	if _, err := l.Section(&Manifest{Number: 7}, s); err == nil || !strings.Contains(err.Error(), "cannot have written") {
		t.Errorf("a section above the limit: %v", err)
	}
}

// A manifest costs a few bytes for each section, and may announce thousands of pieces for it.
func TestOrphansOfAManifestThatAnnouncesMuch(t *testing.T) {
	m := &Manifest{Number: 1}
	for i := range 50_000 {
		m.Sections = append(m.Sections, Stored{Name: strconv.Itoa(i), Blob: Blob{Chunks: 1 << 12}})
	}
	l := NewLog()
	for _, key := range []string{"part/7/0/4095", "part/7/0/4096", "part/7/1/0", "part/x/0/0", "part/7/0/0", "done"} {
		l.Apply([]byte(key), []byte("value"))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := l.Orphans(nil, m)
	runtime.ReadMemStats(&after)
	if want := []string{"part/7/0/4096", "part/7/1/0", "part/x/0/0"}; !slices.Equal(got, want) {
		t.Errorf("orphans %q, want %q", got, want)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"liftstream/model/recency"
	"liftstream/model/wire"
)

// sectionRecency is the name of the section of a Recency; its ids lie in sections of chunks of them.
const sectionRecency = "recency"

// RecencyOptions say which features are the recency and the counts of ids.
type RecencyOptions struct {
	Bytes    int64 // bound of the times that are remembered of ids, see recency.Options
	Features []RecentFeature
}

// RecentFeature is a continuous feature that tells of the former records of the id of a record.
type RecentFeature struct {
	Feature int   // of the Schema
	Window  int64 // nanoseconds before a record in which Count counts; 0 = the seconds since the last one
	// Where is the feature that the former records have Level in, nominal or ordinal; -1 = all records count.
	Where int
	Level string
}

// group names the records that count for the feature.
func (f *RecentFeature) group(s *Schema) string {
	if f.Where < 0 {
		return ""
	}
	return strconv.Quote(s.Features[f.Where].Name) + "=" + strconv.Quote(f.Level)
}

// settings are those of the store.
func (o *RecencyOptions) settings(s *Schema) recency.Options {
	out := recency.Options{Bytes: o.Bytes}
	for i := range o.Features {
		f := &o.Features[i]
		out.Window = max(out.Window, f.Window)
		if g := f.group(s); !slices.Contains(out.Groups, g) {
			out.Groups = append(out.Groups, g)
		}
	}
	return out
}

// Recency fills the features of a batch that tell of the former records of an id (recency/METHOD.md), which came
// before it in the order of the stream and are not later by their own times. Ids are known by half of their SHA-256.
// Live it is a part of the state of a partition, where the former records are those of the partition. Readers of files
// have one of their own, where they are those of the files, in the order of the files.
//
// A record without an id or without a time has no value, and is not remembered. An id that nobody knows has the count 0
// and no last record.
type Recency struct {
	schema *Schema
	o      *RecencyOptions
	store  *recency.Store
	time   streamTime
	groups []int // of the store, by feature of o
	text   []byte
}

// NewRecency returns an empty one, nil where no feature asks for it.
func NewRecency(s *Schema, o *RecencyOptions) *Recency {
	if o == nil {
		return nil
	}
	return newRecency(s, o, recency.New(o.settings(s)))
}

func newRecency(s *Schema, o *RecencyOptions, store *recency.Store) *Recency {
	r := &Recency{schema: s, o: o, store: store}
	for i := range o.Features {
		r.groups = append(r.groups, store.Group(o.Features[i].group(s)))
	}
	return r
}

// Fill fills the features of a batch, which Events must be given next, and takes note of its records. It goes row by
// row: the result does not depend on how the rows were cut into batches. A nil Recency leaves the batch alone.
func (r *Recency) Fill(b *Batch) {
	if r == nil {
		return
	}
	for i := range b.N {
		r.fill(b, i)
		r.note(b, i)
	}
}

// peek fills the features of a batch that is not taken in.
func (r *Recency) peek(b *Batch) {
	if r == nil {
		return
	}
	for i := range b.N {
		r.fill(b, i)
	}
}

// known reports whether record i has an id and a time, and returns the sum of the id.
func (r *Recency) known(b *Batch, i int) (id recency.ID, ok bool) {
	if b.ID == nil || b.ID[i] == "" || b.Time == nil || b.Time[i] == 0 {
		return id, false
	}
	r.text = append(r.text[:0], b.ID[i]...)
	return recency.ID(sumOf(r.text)), true
}

func (r *Recency) fill(b *Batch, i int) {
	id, ok := r.known(b, i)
	for k := range r.o.Features {
		f, v := &r.o.Features[k], math.NaN()
		switch {
		case !ok:
		case f.Window > 0:
			v = r.store.Count(id, r.groups[k], b.Time[i], f.Window)
		default:
			if nanos, ok := r.store.Since(id, r.groups[k], b.Time[i]); ok {
				v = float64(nanos) / float64(time.Second)
			}
		}
		b.Columns[f.Feature].Float[i] = v
	}
}

func (r *Recency) note(b *Batch, i int) {
	id, ok := r.known(b, i)
	if !ok {
		return
	}
	r.time.observe(b.Time[i])
	var done [recency.MaxGroups]bool // groups that have the record
	for k, g := range r.groups {
		if !done[g] && r.o.Features[k].takes(b, i) {
			done[g] = true
			r.store.Add(id, g, b.Time[i], r.time.now)
		}
	}
}

// takes reports whether record i counts for the feature.
func (f *RecentFeature) takes(b *Batch, i int) bool {
	if f.Where < 0 {
		return true
	}
	c := &b.Columns[f.Where]
	code := c.Code[i]
	return code != MissingCode && c.Levels[code] == f.Level
}

// Kept counts the content of a Recency.
type Kept struct {
	IDs     int    // ids, those of each condition counted by themselves
	Bytes   int64  // that these are reckoned to take, at most RecencyOptions.Bytes
	Evicted uint64 // ids that were evicted because there was no room
}

// Kept counts its content; nothing of a nil Recency.
func (r *Recency) Kept() Kept {
	if r == nil {
		return Kept{}
	}
	return Kept{r.store.Len(), r.store.Bytes(), r.store.Evicted()}
}

// sections returns the stored parts.
func (r *Recency) sections(edits uint64) []Section {
	out := []Section{{sectionRecency, edits, r.appendHead}}
	for c := range recency.Chunks {
		if keys, version := r.store.Chunk(c); keys > 0 {
			out = append(out, Section{recencyName(c), version, func(b []byte) []byte { return r.store.AppendChunk(b, c) }})
		}
	}
	return out
}

func recencyName(chunk int) string { return sectionRecency + "/" + strconv.Itoa(chunk) }

func (r *Recency) appendHead(b []byte) []byte { return r.time.append(r.store.AppendHead(b)) }

// loadRecency reads the ids of a state that was made under s.
func loadRecency(s *Spec, names []string, read reader) (*Recency, error) {
	o := s.Options.Recency
	if o == nil {
		return nil, nil
	}
	var store *recency.Store
	var keys [recency.Chunks]uint64
	var at streamTime
	err := read(sectionRecency, func(b []byte) (err error) {
		r := wire.NewReader(b)
		if store, keys, err = recency.ReadHead(r); err != nil {
			return err
		}
		at = readStreamTime(r)
		return r.Done()
	})
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", sectionRecency, err)
	}
	if !store.Serves(o.settings(s.Schema)) {
		return nil, fmt.Errorf("decoding %s: %w", sectionRecency, ErrModelForeign)
	}
	for c, n := range keys {
		name := recencyName(c)
		if n == 0 && !slices.Contains(names, name) {
			continue
		}
		if err := read(name, func(b []byte) error { return store.LoadChunk(b, c, n) }); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
	}
	r := newRecency(s.Schema, o, store)
	r.time = at
	return r, nil
}

// carry takes over the ids of another one, as far as the same records count here.
func (r *Recency) carry(old *Recency) {
	if r == nil || old == nil {
		return
	}
	r.time = old.time
	r.store.Carry(old.store)
}

// forget takes the ids out, and returns the number of them that were there.
func (r *Recency) forget(ids []IDSum) int {
	if r == nil {
		return 0
	}
	sums := make([]recency.ID, len(ids))
	for i, id := range ids {
		sums[i] = recency.ID(id)
	}
	return r.store.Forget(sums)
}

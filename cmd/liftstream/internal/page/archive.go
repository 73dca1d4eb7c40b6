package page

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"liftstream/model"
)

const (
	// archived bounds the newest records of a process that can be looked up, and archivedBytes their rough size.
	archived      = 4096
	archivedBytes = 16 << 20
	// keptReasons and keptSubspace bound the lists of a record, the strongest first.
	keptReasons, keptSubspace = 32, 32
)

// archive keeps the newest records of all partitions to look them up. Its entries are used again, so that in the long
// run a record takes the memory of its texts alone.
type archive struct {
	schema *model.Schema

	mu      sync.Mutex // guards the rest
	entries []entry    // a ring, which grows to most
	most    int
	at      int // the next one
}

func newArchive(s *model.Schema) *archive {
	const texts = 2048 // of the ids, levels and lists of an entry, about
	return &archive{schema: s, most: max(64, min(archived, archivedBytes/(texts+8*len(s.Classes))))}
}

// entry is a scored record. It owns its texts.
type entry struct {
	id                     string
	named                  bool // the batch has ids
	partition, row         int32
	offset, time, model    int64
	status                 model.Status
	segment, target, label int32
	p                      []float64
	base, lift, percentile float64
	profile                string
	control                bool
	why                    []model.Reason
	terms, levels          []string // of the reasons: the name of a term, and the text of a level; "" of others
	subspace               []int32
	relevance              []float32
	values                 []float64 // of the subspace; of a level its text is there
	texts                  []string
	missing                []bool
}

// keep sets a text to a copy of another one, if they differ.
func keep(own *string, s string) {
	if *own != s {
		*own = strings.Clone(s)
	}
}

// resize gives a list a length. Its values stay, to be compared with.
func resize[T any](list []T, n int) []T {
	for len(list) < n {
		list = append(list, *new(T))
	}
	return list[:n]
}

// fill takes record i of a batch.
func (e *entry) fill(schema *model.Schema, partition int32, b *model.Batch, s *model.Scores, l *model.Levels, i int) {
	e.partition, e.offset, e.row, e.model = partition, b.Offset, int32(i), s.Model
	if b.Row != nil {
		e.row = b.Row[i]
	}
	if e.time = 0; b.Time != nil {
		e.time = b.Time[i]
	}
	if e.named = b.ID != nil; e.named {
		keep(&e.id, b.ID[i])
	}
	e.status, e.segment, e.target, e.label = s.Status[i], s.Segment[i], s.Target[i], b.Label[i]
	e.p = append(e.p[:0], s.P[i*s.Classes:(i+1)*s.Classes]...)
	e.base, e.lift, e.percentile = s.BaseRate[i], s.Lift[i], float64(s.Percentile[i])
	e.control = i < len(s.Control) && s.Control[i]
	keep(&e.profile, s.Profile[i])
	why := s.WhyOf(i)
	why = why[:min(len(why), keptReasons)]
	e.why = append(e.why[:0], why...)
	e.terms, e.levels = resize(e.terms, len(why)), resize(e.levels, len(why))
	for k, w := range why {
		e.terms[k] = ""
		switch {
		case w.Feature < 0:
			e.terms[k] = s.TermName(schema, w.Feature)
		case schema.Features[w.Feature].Kind != model.Continuous && !model.Missing(w.Value):
			keep(&e.levels[k], l.Text(int(w.Feature), w.Value))
		}
	}
	e.place(b, s, i)
}

// place takes the subspace of record i, and its values there.
func (e *entry) place(b *model.Batch, s *model.Scores, i int) {
	features, relevance := s.SubspaceOf(i)
	features = features[:min(len(features), keptSubspace)]
	n := len(features)
	e.subspace = append(e.subspace[:0], features...)
	e.relevance = append(e.relevance[:0], relevance[:n]...)
	e.values, e.texts, e.missing = resize(e.values, n), resize(e.texts, n), resize(e.missing, n)
	for k, f := range features {
		e.missing[k] = true
		if int(f) >= len(b.Columns) {
			continue
		}
		switch c := &b.Columns[f]; {
		case c.Float != nil:
			e.values[k] = c.Float[i]
			e.missing[k] = model.Missing(c.Float[i])
		case c.Code != nil && int64(c.Code[i]) < int64(len(c.Levels)):
			keep(&e.texts[k], c.Levels[c.Code[i]])
			e.missing[k] = false
		}
	}
}

// who is the name of the record: its id, else its position.
func (e *entry) who() string {
	if e.named {
		return e.id
	}
	return fmt.Sprintf("%d/%d/%d", e.partition, e.offset, e.row)
}

// record writes the entry for people.
func (e *entry) record(s *model.Schema) Record {
	r := Record{Who: e.who(), Partition: e.partition, Offset: e.offset, Row: e.row, Model: e.model,
		Status: e.status.String(), Segment: s.Classes[e.segment], Target: s.Classes[e.target],
		Propensity: e.p[e.target], BaseRate: finite(e.base), Lift: finite(e.lift), Percentile: e.percentile,
		Profile: e.profile, Control: e.control, Why: make([]Reason, len(e.why))}
	if e.time != 0 {
		r.Time = time.Unix(0, e.time).UTC()
	}
	if e.label >= 0 {
		r.Label = s.Classes[e.label]
	}
	for k, w := range e.why {
		x := Reason{Feature: e.terms[k], Effect: finite(w.Effect), N: finite(w.N)}
		if w.Lift == finite(w.Lift) {
			lift := w.Lift
			x.Lift = &lift
		}
		if w.Feature >= 0 {
			f := &s.Features[w.Feature]
			if x.Feature = f.Name; !model.Missing(w.Value) {
				text := e.levels[k]
				if f.Kind == model.Continuous {
					text = number(w.Value)
				}
				x.Value = &text
			}
		}
		r.Why[k] = x
	}
	return r
}

// add takes the records of a scored batch; of a large one the last ones.
func (a *archive) add(partition int32, b *model.Batch, s *model.Scores, l *model.Levels) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := max(0, s.N-a.most); i < s.N; i++ {
		if a.at == len(a.entries) && a.at < a.most {
			a.entries = append(a.entries, entry{})
		}
		a.at %= a.most
		a.entries[a.at].fill(a.schema, partition, b, s, l, i)
		a.at++
	}
}

// find returns the newest record of that name, and the number of kept records.
func (a *archive) find(who string) (found *Found, of int) {
	var partition, row int32
	var offset int64
	n, _ := fmt.Sscanf(who, "%d/%d/%d", &partition, &offset, &row)
	a.mu.Lock()
	defer a.mu.Unlock()
	for k := range a.entries {
		e := &a.entries[(a.at-1-k+2*len(a.entries))%len(a.entries)]
		if e.named && e.id == who || !e.named && n == 3 && e.partition == partition && e.offset == offset && e.row == row {
			return e.found(a.schema), len(a.entries)
		}
	}
	return nil, len(a.entries)
}

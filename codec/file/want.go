package file

import (
	"strings"

	"liftstream/codec"
	"liftstream/codec/number"
	"liftstream/model"
)

// want is the type as which a column of a text file is read.
type want uint8

const (
	wantGuess   want = iota // the type of its values
	wantNumber              // anything else is an error
	wantText                // as it stands
	wantTime                // as wantGuess: integers are Unix milliseconds
	wantNothing             // not read
)

type wants struct {
	by      map[string]want
	rest    want
	texts   bool // which values are text by their format is kept
	floats  bool // numbers are always float64, never int64
	missing missing
	changes *codec.Changes // of numbers; nil counts nothing
	numbers number.Format
}

// cells starts a column.
func (w *wants) cells(name string) cells {
	return cells{name: name, as: w.of(name), floats: w.floats, missing: &w.missing, track: w.texts, changes: w.changes,
		numbers: &w.numbers}
}

func (w *wants) of(name string) want {
	if k, ok := w.by[name]; ok {
		return k
	}
	return w.rest
}

func wantsOf(o codec.Options) wants {
	w := wants{by: map[string]want{}, missing: missingSet(o.Missing), numbers: o.Numbers}
	for i := range o.Schema.Features {
		f := &o.Schema.Features[i]
		if f.Derived != "" {
			continue
		}
		w.by[f.Name] = wantText
		if f.Kind == model.Continuous {
			w.by[f.Name] = wantNumber
		}
	}
	for _, s := range o.Sources() {
		as := wantNumber
		if s.Times {
			as = wantTime
		}
		if old, ok := w.by[s.Name]; !ok || as == wantNumber && old == wantTime {
			w.by[s.Name] = as
		}
	}
	for _, g := range o.Goals {
		if _, ok := w.by[g.Column]; !ok {
			w.by[g.Column] = wantText
		}
	}
	// A column in two roles is read as the stricter needs it: the contract takes text ids from numbers, not the reverse.
	for _, x := range []struct {
		name string
		as   want
	}{{o.ID, wantText}, {o.Label, wantText}, {o.Time, wantTime}, {o.Weight, wantNumber},
		{o.Treated, wantText}} {
		if _, ok := w.by[x.name]; x.name != "" && !ok {
			w.by[x.name] = x.as
		}
	}
	return w
}

// missing is the set of texts that mean null.
type missing struct {
	set  map[string]bool
	lens uint64 // bit n: a text of n bytes is in it; bit 63: longer ones
}

func missingSet(texts []string) missing {
	m := missing{set: map[string]bool{}}
	for _, t := range texts {
		t = strings.Trim(t, " \t")
		m.set[t] = true
		m.lens |= 1 << min(len(t), 63)
	}
	return m
}

func (m *missing) has(b []byte) bool { return m.lens>>min(len(b), 63)&1 == 1 && m.set[string(b)] }

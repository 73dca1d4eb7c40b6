package model

import "slices"

// Peek scores the batch into out as Events would do now, and moves nothing: each record gets the score, to the bit,
// that it would get if it were the next one. Records of the batch neither teach nor rank each other; only levels that
// are new are numbered in their order, as in a message. Labels, weights and times of the batch have no effect, and a
// record that Sieve would leave out has a score too. Recency fills its features, and takes no note; while Events is at
// work it already knows all records of that batch.
//
// use, where it is set, is called with the levels with which out is rendered. They hold the new ones until it returns,
// so it must render out, or copy the texts.
//
// Peek may be called between any two commands, and by the function that EventsWhile and LabelsWhile ask.
func Peek(p *Partition, b *Batch, out *Scores, use func(l *Levels)) {
	known := p.levels.counts()
	coder, row := p.coder, p.row
	p.coder = newCoder(p.spec.Schema)
	p.row = p.coder.row
	p.percent.held = true
	defer func() {
		p.percent.held = false
		p.coder, p.row = coder, row
		p.levels.forget(known)
	}()
	out.Reset(b.N, len(p.spec.Schema.Classes))
	out.Model, out.Terms = p.version, p.terms
	p.spec.Options.Control.flag(b, out)
	p.Recency.peek(b)
	p.coder.start(b)
	for i := range b.N {
		p.coder.code(p.levels, b, i)
		peekRecord(p, out, i)
	}
	if use != nil {
		use(p.levels)
	}
}

// peekRecord is scoreRecord, after which uplift and misfit are as before.
func peekRecord(p *Partition, out *Scores, i int) {
	if u := p.uplift; u != nil {
		cells := u.fewCells
		defer func() { u.fewCells = cells }()
	}
	if d := p.misfit; d != nil {
		cells, effect, met := d.fewCells, slices.Clone(d.effect), d.met
		defer func() {
			d.fewCells, d.met = cells, met
			copy(d.effect, effect)
		}()
	}
	scoreRecord(p, out, i)
}

// counts returns the number of levels of each feature.
func (l *Levels) counts() []int {
	n := make([]int, len(l.names))
	for f := range l.names {
		n[f] = len(l.names[f])
	}
	return n
}

// forget takes back the levels that were added after there were so many of each feature.
func (l *Levels) forget(counts []int) {
	for f, n := range counts {
		for c := len(l.names[f]) - 1; c >= n; c-- {
			text := l.names[f][c]
			delete(l.index[f], text)
			for _, x := range []struct {
				text  string
				first []map[string]uint32
			}{{string(CanonicalText(nil, []byte(text))), l.canonical}, {SameValue(text), l.same}} {
				if code, ok := x.first[f][x.text]; ok && code == uint32(c) {
					delete(x.first[f], x.text)
				}
			}
		}
		clear(l.names[f][n:])
		l.names[f] = l.names[f][:n]
	}
}

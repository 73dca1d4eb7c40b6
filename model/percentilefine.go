package model

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"liftstream/model/wire"
)

// fineSteps is the number of steps in a bucket of the percentiles. A step is 2.3e-5 of log-odds: where a feature tells
// anything, or weights still move, far fewer than one score in 100 lies at one step of another value.
const fineSteps = 256

const (
	// sectionFine is the name of the section of the steps in a state, PartPercentileFine that of the part of a model. Of
	// scores without steps, of a former build, those of a bucket lie evenly in it.
	sectionFine        = "percentile/fine"
	PartPercentileFine = "percentile/fine"
	// fineFormat is the version of the binary form of both.
	fineFormat = 1
)

// mostFew is the number of steps of a bucket from which on they are counted: where nothing tells of the class, all
// scores of the window lie in one bucket, and each would move half of the others.
const mostFew = 512

// steps are those of the scores in a bucket.
type steps struct {
	few  []uint8    // ascending
	many *stepCount // in place of few, from mostFew on until there are half as many
}

// stepCount is how many scores there are, and at each step.
type stepCount struct {
	n  int32
	at [fineSteps]int32
}

// add adds a step.
func (s *steps) add(fine uint8) {
	if m := s.many; m != nil {
		m.n++
		m.at[fine]++
		return
	}
	at := stepsBelow(s.few, fine)
	if s.few = slices.Insert(s.few, at, fine); len(s.few) < mostFew {
		return
	}
	s.many = &stepCount{n: int32(len(s.few))}
	for _, v := range s.few {
		s.many.at[v]++
	}
	s.few = nil
}

// drop takes a step out. Much more room than they need is given back.
func (s *steps) drop(fine uint8) {
	if m := s.many; m != nil {
		if m.at[fine] == 0 {
			return
		}
		m.n--
		m.at[fine]--
		if m.n > mostFew/2 {
			return
		}
		for v, n := range m.at {
			for range n {
				s.few = append(s.few, uint8(v))
			}
		}
		s.many = nil
		return
	}
	at := stepsBelow(s.few, fine)
	if at == len(s.few) || s.few[at] != fine {
		return
	}
	s.few = slices.Delete(s.few, at, at+1)
	if cap(s.few) > 4*len(s.few)+64 {
		s.few = slices.Clone(s.few)
	}
}

// below is the number of steps below one, and of those equal to it.
func (s *steps) below(fine uint8) (below, same int32) {
	if m := s.many; m != nil {
		for _, n := range m.at[:fine] {
			below += n
		}
		return below, m.at[fine]
	}
	lo := stepsBelow(s.few, fine)
	rest := s.few[lo:]
	switch {
	case len(rest) == 0 || rest[0] != fine:
		return int32(lo), 0
	case fine == fineSteps-1:
		return int32(lo), int32(len(rest))
	}
	return int32(lo), int32(stepsBelow(rest, fine+1))
}

// stepsBelow is the number of ascending steps below one. It has no branch that depends on them: half of these would be
// guessed wrong.
func stepsBelow(few []uint8, fine uint8) (n int) {
	for rest := len(few); rest > 0; {
		half := (rest + 1) / 2
		next := n + half
		if few[next-1] >= fine {
			next = n
		}
		n = next
		rest -= half
	}
	return n
}

// stepOf is the step of score k of n in a bucket of which nothing more is known: they lie evenly.
func stepOf(k, n int32) uint8 { return uint8((2*int64(k) + 1) * fineSteps / (2 * int64(n))) }

// evenSteps returns the steps of scores without any, by class, bucket after bucket.
func evenSteps(lists map[int32][]bucket) map[int32][]uint8 {
	out := map[int32][]uint8{}
	for class, list := range lists {
		for _, x := range list {
			for k := range x.n {
				out[class] = append(out[class], stepOf(k, x.n))
			}
		}
	}
	return out
}

// stepsOf returns the steps of scores by class, bucket after bucket, ascending in each: beside counted.
func stepsOf(scores []scored) map[int32][]uint8 {
	ascending := slices.Clone(scores)
	slices.SortFunc(ascending, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.bucket, b.bucket), cmp.Compare(a.fine, b.fine))
	})
	out := map[int32][]uint8{}
	for _, x := range ascending {
		out[int32(x.class)] = append(out[int32(x.class)], x.fine)
	}
	return out
}

// scoresOf are the scores of buckets with their steps.
func scoresOf(lists map[int32][]bucket, steps map[int32][]uint8) (out []scored) {
	for class, list := range lists {
		of := steps[class]
		for _, x := range list {
			n := min(int(x.n), len(of))
			for _, fine := range of[:n] {
				out = append(out, scored{x.bucket, uint16(class), fine})
			}
			of = of[n:]
		}
	}
	return out
}

// appendSteps appends the steps of the buckets of lists, class by class.
func appendSteps(b []byte, lists map[int32][]bucket, steps map[int32][]uint8) []byte {
	for _, c := range sortedKeys(lists) {
		b = append(b, steps[c]...)
	}
	return b
}

// readSteps is the inverse of appendSteps.
func readSteps(r *wire.Reader, lists map[int32][]bucket) map[int32][]uint8 {
	out := map[int32][]uint8{}
	for _, c := range sortedKeys(lists) {
		n := 0
		for _, x := range lists[c] {
			n += int(x.n)
		}
		if n > r.Rest() {
			r.Fail(fmt.Errorf("%d bytes of the steps of %d scores", r.Rest(), n))
			return out
		}
		out[c] = bytes.Clone(r.Take(n))
	}
	return out
}

func readFineFormat(r *wire.Reader) {
	if f := r.Uvarint(); r.Err() == nil && f != fineFormat {
		r.Fail(fmt.Errorf("format %d, this build reads %d", f, fineFormat))
	}
}

// percentileFinePart makes the model's part of the steps: the format, then those of the scores of percentilePart in the
// order of that.
func percentileFinePart(members []member) []byte {
	b := wire.AppendUvarint(nil, fineFormat)
	for i := range members {
		b = appendSteps(b, members[i].scores, members[i].steps)
	}
	return b
}

// readPercentileParts reads the scores and the steps of a model, by partition and class; nil of none.
func readPercentileParts(m *Model, classes int) (
	part map[int32]map[int32][]bucket, fine map[int32]map[int32][]uint8, err error,
) {
	part, err = readPercentilePart(m.Parts[PartPercentile], classes)
	if err != nil || part == nil {
		return nil, nil, err
	}
	fine = map[int32]map[int32][]uint8{}
	b := m.Parts[PartPercentileFine]
	if b == nil {
		for p, lists := range part {
			fine[p] = evenSteps(lists)
		}
		return part, fine, nil
	}
	r := wire.NewReader(b)
	readFineFormat(r)
	for _, p := range sortedKeys(part) {
		fine[p] = readSteps(r, part[p])
	}
	if err := r.Done(); err != nil {
		return nil, nil, fmt.Errorf("decoding the steps of the scores of a model: %w", err)
	}
	return part, fine, nil
}

// appendFine appends the section of the steps: the format, those of the own scores, oldest first, and those of the
// others.
func (q *percentile) appendFine(b []byte) []byte {
	b = wire.AppendUvarint(b, fineFormat)
	for _, x := range q.newest(len(q.ring)) {
		b = append(b, x.fine)
	}
	return appendSteps(b, q.others, q.steps)
}

// loadFine reads the section of the steps of a state whose scores were loaded; a state of a former build has none.
func (q *percentile) loadFine(read reader) error {
	err := read(sectionFine, func(b []byte) error {
		if len(b) == 0 {
			return nil
		}
		r := wire.NewReader(b)
		readFineFormat(r)
		own := q.newest(len(q.ring))
		if r.Rest() < len(own) {
			return fmt.Errorf("%d bytes of the steps of %d scores", r.Rest(), len(own))
		}
		for i, fine := range r.Take(len(own)) {
			own[i].fine = fine
		}
		steps := readSteps(r, q.others)
		if err := r.Done(); err != nil {
			return err
		}
		q.set(own, q.limit, q.others, steps)
		return nil
	})
	if err != nil {
		return fmt.Errorf("decoding %s: %w", sectionFine, err)
	}
	return nil
}

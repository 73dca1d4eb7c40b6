package propensity

import (
	"slices"
)

// inputs keep the slots of the inputs that other components offer.
type inputs struct {
	counts
	learnt float64 // number of records learnt: tells whether remembered margins are still exact
	// keys holds the key of the input (see model.Keyed) whose weights are in each external slot, 0 where there was none,
	// and since the value of learnt when it came there. An input that is not offered any more keeps its slot until another
	// one needs it.
	keys  []uint64
	since []float64

	ext     []int   // shared slot of each external input, -1 where there is none
	renamed float64 // the largest of since
	tmp     memory  // of a record that was not remembered, or whose inputs have changed since
}

// deriveInputs computes everything that follows from the slots. Where no inputs are offered, those of the blocks are.
func (s *inputs) deriveInputs() {
	s.tmp = s.emptyMemory()
	if s.ext == nil {
		offered := make([]int, len(s.opt.Blocks))
		for i, b := range s.opt.Blocks {
			offered[i] = b.Inputs
		}
		s.SetBlocks(offered)
	}
	s.renamed = 0
	for _, v := range s.since {
		s.renamed = max(s.renamed, v)
	}
}

// SetBlocks says how many inputs each of the Options.Blocks offers at present, in their order, input j of a block in
// its slot j: for a scorecard whose inputs never change. More than a block announced are ignored, and blocks without a
// count offer none. Without this call or SetInputs every block offers as many as it announced. It is not part of the
// state.
func (s *inputs) SetBlocks(counts []int) {
	s.ext = s.ext[:0]
	at := s.slots - s.extern
	for i, b := range s.opt.Blocks {
		if i == len(counts) {
			break
		}
		for j := range counts[i] {
			if j < b.Inputs {
				s.ext = append(s.ext, at+j)
			} else {
				s.ext = append(s.ext, -1)
			}
		}
		at += b.Inputs
	}
}

// SetInputs says which inputs each of the Options.Blocks offers at present, by their keys; more than a block announced
// are ignored, and blocks without keys offer none. An input has the weights that its key had when it was last offered,
// wherever in its block. A new one takes over the weights of a slot that had no key yet, or begins with those of a
// beginning in the first slot whose key is not offered. Memories of scores before then say nothing of it.
func (s *inputs) SetInputs(keys [][]uint64) {
	s.ext = s.ext[:0]
	first, begun := s.slots-s.extern, false
	at := 0
	for b := range min(len(keys), len(s.opt.Blocks)) {
		n := s.opt.Blocks[b].Inputs
		held, taken := s.keys[at:at+n], make([]bool, n)
		slot := slices.Repeat([]int{-1}, len(keys[b]))
		for j, k := range keys[b] {
			for i, h := range held {
				if slot[j] < 0 && h == k && !taken[i] {
					slot[j], taken[i] = i, true
				}
			}
		}
		for j, k := range keys[b] {
			if slot[j] >= 0 || !slices.Contains(taken, false) {
				continue
			}
			i := slices.Index(taken, false)
			for e := range held {
				if held[e] == 0 && !taken[e] {
					i = e
					break
				}
			}
			if held[i] != 0 {
				s.cur.in[first+at+i], s.since[at+i] = s.plan.prior(first+at+i), s.learnt+1
				begun = true
			}
			held[i], slot[j], taken[i] = k, i, true
		}
		for _, i := range slot {
			if i >= 0 {
				i += first + at
			}
			s.ext = append(s.ext, i)
		}
		at += n
	}
	if begun {
		s.learnt++
		s.renamed = s.learnt
	}
}

// arrange returns external pairs that stand in the order of the keys of each block in that of their slots: after
// SetInputs(keys) alone.
func (s *inputs) arrange(in []pair, keys [][]uint64) []pair {
	out := slices.Clone(in)
	clear(out[s.slots-s.extern:])
	s.eachInput(keys, func(canonical, slot int) { out[slot] = in[canonical] })
	return out
}

// canonical is the way back: it returns pairs that stand in their slots in the order of the keys. Inputs of which the
// scorecard has learnt nothing have the zero pair.
func (s *inputs) canonical(in []pair, keys [][]uint64) []pair {
	if keys == nil {
		return in
	}
	out := slices.Clone(in)
	clear(out[s.slots-s.extern:])
	s.SetInputs(keys)
	s.eachInput(keys, func(canonical, slot int) {
		if s.cur.in[slot] != s.plan.prior(slot) { // begun just now, or never learnt
			out[canonical] = in[slot]
		}
	})
	return out
}

// eachInput yields the shared slot that an input would have by its number, and the one that it has.
func (s *inputs) eachInput(keys [][]uint64, yield func(canonical, slot int)) {
	at, n := s.slots-s.extern, 0
	for b := range min(len(keys), len(s.opt.Blocks)) {
		for j := range keys[b] {
			if slot := s.ext[n]; slot >= 0 && j < s.opt.Blocks[b].Inputs {
				yield(at+j, slot)
			}
			n++
		}
		at += s.opt.Blocks[b].Inputs
	}
}

// current returns the memory of a record without the inputs whose slots have been given to others since: m itself where
// there are none.
func (s *inputs) current(m memory) memory {
	then := m.learnt[0]
	if then >= s.renamed {
		return m
	}
	s.tmp.set(m)
	K, first := s.margins, s.slots-s.extern
	for e, v := range s.since {
		if then < v {
			clear(s.tmp.input(first+e, K))
		}
	}
	return s.tmp
}

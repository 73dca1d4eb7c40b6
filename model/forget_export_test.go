package model

import "slices"

// HeldRows returns the rows of all records in a partition: of the pending store, with gone ones in its columns, of the
// tail with its emptied slots, and of the reservoir.
func HeldRows(p *Partition) (rows []Row) {
	s := p.store
	for k, part := range s.parts {
		if part != nil {
			entriesOf(&s.entryQueue, part, (s.first/pendingChunk+uint64(k))*pendingChunk, func(w *waiting, _ bool) {
				rows = append(rows, slices.Clone(w.Row))
			})
		}
	}
	for i := range p.sample.tail.class {
		rows = append(rows, p.sample.tail.cells(i))
	}
	for i := range p.sample.reservoir.items {
		rows = append(rows, p.sample.reservoir.items[i].Row)
	}
	return rows
}

// LearntExamples returns the learnt records of the tail of a partition, emptied ones left out.
func LearntExamples(p *Partition) (out []*Example) {
	for n := p.sample.tail.first; n < p.sample.tail.next; n++ {
		var r record
		if p.sample.tail.at(n, &r); r.Weight > 0 {
			out = append(out, &r.Example)
		}
	}
	return out
}

// ClassCounts returns the weights of the classes of a partition, and the sum of the squares of its records' weights.
func ClassCounts(p *Partition) (sum []float64, square float64) { return p.counts.sum, p.counts.square }

package model

// LearntClass returns the class as which the newest records of a partition hold one, and whether they do.
func LearntClass(p *Partition, offset int64, row int32) (int32, bool) {
	var r record
	for n := p.sample.tail.first; n < p.sample.tail.next; n++ {
		if p.sample.tail.at(n, &r); r.offset == offset && r.row == row {
			return r.Class, true
		}
	}
	return 0, false
}

// Rewait takes the labels from the records that wait for the end of their windows.
func Rewait(p *Partition) {
	editAll(p.store, func(w *waiting) bool {
		if !w.learnt {
			w.Class = Unlabelled
		}
		return true
	})
}

package model_test

import (
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// TestInvertedLabelsOfOnePartitionAreSeen, and one-sided ones: beside as many right ones of another, also where it is
// one of five. Labels of a partition that had the other sense when the model was fitted are none.
func TestInvertedLabelsOfOnePartitionAreSeen(t *testing.T) {
	modeltest.Computes(t)
	ceased := func(b *model.Batch) { clear(b.Label) }
	later := func(b *model.Batch) { // labels of the first class come 1,200 records after labels of the second
		for i, c := range b.Label {
			if c == 0 {
				b.Time[i] -= int64(1200 * time.Second)
			}
		}
	}
	for _, c := range []struct {
		name       string
		partitions int
		first      func(b *model.Batch) // of partition 1 before the model
		then       func(b *model.Batch) // and since
		n          int                  // records since, of each partition
		want       string
	}{
		{"one of two", 2, nil, invert, 1500, " of partition 1"},
		{"one of two, just now", 2, nil, invert, 250, " of partition 1"},
		{"one of five", 5, nil, invert, 1000, " of partition 1"},
		{"one-sided in one of two", 2, nil, ceased, 1500, " of partition 1"},
		{"no label of the class from the start", 5, ceased, ceased, 1500, ""},
		{"too few to tell", 2, nil, invert, 200, ""},
		{"as they were", 2, nil, nil, 1500, ""},
		{"one class later than the other", 2, later, later, 2500, ""},
		{"of another population", 5, invert, invert, 1500, ""},
	} {
		spec := newSpec(nil)
		var all []*model.Partition
		edit := func(p int, f func(b *model.Batch)) func(b *model.Batch) {
			return func(b *model.Batch) {
				if p == 1 && f != nil {
					f(b)
				}
				for i := range b.Time {
					b.Time[i] -= int64(10_000*p) * int64(time.Second) // those of partition 0
				}
			}
		}
		for p := range c.partitions {
			all = append(all, model.NewPartition(spec, int32(p)))
			feed(all[p], 10_000*p, 10_000*p+1500, 100, edit(p, c.first))
		}
		m, _ := fit(t, spec, all...)
		for p, x := range all {
			feed(x, 100_000+10_000*p, 100_000+10_000*p+c.n, 50, edit(p, c.then))
		}
		s := sense(t, spec, m, all...)
		if s.Inverted() != (c.want != "") || s.Of != c.want || !strings.Contains(s.String(), "records"+c.want+" ") {
			t.Errorf("%s: inverted %v, %s", c.name, s.Inverted(), &s)
		}
	}
}

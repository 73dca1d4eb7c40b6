package model_test

import (
	"fmt"
	"testing"

	"liftstream/model"
)

// BenchmarkWindows is a stream of 84,000 records that all wait for the end of their windows, with four labels by id and
// one by place for each ten records. There are 84,000 ids, or so few that many records of one wait.
func BenchmarkWindows(b *testing.B) {
	for _, ids := range []int{84_000, 3001, 90} {
		for match, name := range map[model.Match]string{model.MatchNewest: "newest", model.MatchFirst: "first",
			model.MatchAll: "all"} {
			if ids < 100 && match == model.MatchAll {
				continue // a label is that of 64 records
			}
			b.Run(fmt.Sprintf("ids=%d/%s", ids, name), func(b *testing.B) {
				for range b.N {
					waitAndLearn(ids, 84_000, match)
				}
			})
		}
	}
}

// waitAndLearn feeds a partition n records of so many ids, and labels of the records of the last hour.
func waitAndLearn(ids, n int, match model.Match) *model.Partition {
	spec := newSpec(windows(6000, 2000))
	spec.Options.WaitBytes, spec.Options.Match = 1<<27, match
	p := model.NewPartition(spec, 0)
	id := func(record int) string { return fmt.Sprint("c", record*37%ids) }
	for i := 0; i < n; i += 10 {
		feed(p, i, i+10, 10, func(b *model.Batch) {
			for k, row := range b.Row {
				b.ID[k] = id(int(row))
			}
			withoutLabel(b)
		})
		l := &model.Labels{N: 4, Class: []int32{1, 0, 1, 0}}
		for k := range l.N {
			l.ID = append(l.ID, id(max(i-int(model.Hash(7, uint64(i), uint64(k))%3600), 0)))
		}
		p.Labels(l)
		if back := int32(model.Hash(8, uint64(i)) % 3600); int(back) <= i {
			p.Labels(&model.Labels{N: 1, Class: []int32{1}, Partition: []int32{0}, Offset: []int64{0},
				Row: []int32{int32(i) - back}})
		}
	}
	return p
}

package assemble

import (
	"fmt"
	"testing"

	"liftstream/model"
)

// BenchmarkGoals scores and learns records of a stage without goals, and of one with nine of them: the goals of a
// record are bits of its number. It tells the bytes of the state too.
func BenchmarkGoals(b *testing.B) {
	for _, method := range []string{"lift", "all"} {
		for _, n := range []int{0, 9} {
			b.Run(fmt.Sprintf("%s/%d goals", method, n), func(b *testing.B) { benchmarkGoals(b, method, n) })
		}
	}
}

func benchmarkGoals(b *testing.B, method string, n int) {
	labels := "[" + bought
	for k := range n {
		labels += fmt.Sprintf(", {column: goal%d}", k)
	}
	const text = `
name: x
record:
  label: %s]
  features: [{name: visits, kind: continuous}, {name: age, kind: continuous}, {name: plan, kind: nominal},
    {name: a, kind: continuous}, {name: b, kind: continuous}, {name: c, kind: continuous}, {name: d, kind: nominal}]
fit: {warmup: 500}
`
	s := stage(b, fmt.Sprintf(text, labels))
	spec := s.Scoring()
	if method == "lift" {
		spec = s.Scoring("lift")
	}
	p := model.NewPartition(spec, 0)
	batch := func(from int) *model.Batch {
		x, y, _, _ := goalRecords(from, from+500)
		x.Label, x.Outcomes = y, make([]model.Outcomes, x.N)
		for _, shift := range []uint64{3, 17, 29} {
			c := model.Column{}
			for i := range x.N {
				c.Float = append(c.Float, float64(model.Hash(shift, uint64(from+i))%1000))
			}
			x.Columns = append(x.Columns, c)
		}
		x.Columns = append(x.Columns, x.Columns[2])
		for i := range x.N {
			h := model.Hash(5, uint64(from+i))
			for k := range n {
				x.Outcomes[i] = x.Outcomes[i].With(k, int32(h>>k&1))
			}
		}
		return x
	}
	var out model.Scores
	for from := range 10 {
		p.Events(batch(500*from), &out)
	}
	held := 0
	for _, section := range p.Snapshot() {
		held += len(section)
	}
	x := batch(5000)
	b.ResetTimer()
	for range b.N {
		p.Events(x, &out)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*x.N), "ns/record")
	b.ReportMetric(float64(held), "state-bytes")
}

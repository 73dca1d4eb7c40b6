package lift

import (
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

func testOptions() Options {
	return Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 2, Top: 100}, Windows: WindowOptions{Top: 5},
		Profiles: ProfileOptions{Top: 10, MinSupport: .05, MaxFeatures: 2, Validate: .2}}
}

func generated(n int, seed uint64) *model.Evidence {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, n, seed)
	return modeltest.Evidence(s, l, ex)
}

func serve(t testing.TB, o Options, ev *model.Evidence, part []byte, self int32, since []int) *Component {
	t.Helper()
	c := New(o, ev.Schema).New(ev.Levels).(*Component)
	err := c.Rebase(&model.Rebase{Part: part, Self: self, Since: func(yield func(*model.Example) bool) {
		for _, i := range since {
			if !yield(exampleOf(ev, i)) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func exampleOf(ev *model.Evidence, i int) *model.Example {
	row := make(model.Row, len(ev.Columns))
	ev.Row(i, row)
	return &model.Example{Row: row, Class: ev.Class[i], Weight: ev.Weight[i], Clock: ev.Clock[i], Time: ev.Time[i]}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %.15g, want %.15g within %g", what, got, want, tolerance)
	}
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

package lift

import (
	"context"
	"fmt"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

func TestHotPathsDoNotAllocate(t *testing.T) {
	ev := generated(800, 2)
	o := testOptions()
	_, part := fitPart(t, o, ev, nil)
	c := serve(t, o, ev, part, 0, nil)
	exs := make([]*model.Example, ev.Len())
	for i := range exs {
		exs[i] = exampleOf(ev, i)
		c.Learn(exs[i])
	}
	i := 0
	if n := testing.AllocsPerRun(500, func() {
		c.Learn(exs[i])
		c.Retract(exs[i])
		c.Profile(exs[i].Row, 2)
		i = (i + 1) % len(exs)
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func BenchmarkLearn(b *testing.B) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for i := 0; i < 16; i++ {
		f := model.Feature{Name: fmt.Sprint("f", i)}
		if i >= 7 {
			f.Kind = model.Nominal
		}
		s.Features = append(s.Features, f)
	}
	l, ex := modeltest.Generate(s, 4000, 1)
	ev := modeltest.Evidence(s, l, ex)
	for _, top := range []int{20, 64} {
		o := testOptions()
		o.Sets.Top = top
		part, err := New(o, s).Fit(context.Background(), ev, nil)
		if err != nil {
			b.Fatal(err)
		}
		c := serve(b, o, ev, part, 0, nil)
		b.Run(fmt.Sprint(top, "sets"), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			reportCPU(b, func() {
				c.Learn(&ex[i])
				if i++; i == len(ex) {
					i = 0
				}
			})
		})
	}
}

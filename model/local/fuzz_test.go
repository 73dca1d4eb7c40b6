package local

import (
	"context"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

func FuzzLoadState(f *testing.F) {
	c, _, ex := fitted(f, Options{Theta: .2, Prototypes: 20}, 100)
	f.Add(c.AppendState(nil))
	n, _, _ := fitted(f, Options{Theta: .2, Prototypes: 20, Newest: 30}, 100)
	for i := range ex {
		n.Learn(&ex[i])
	}
	f.Add(n.AppendState(nil))
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Component{schema: c.schema}
		if d.LoadState(b) != nil {
			return
		}
		d.Inputs(ex[0].Row, make([]float64, 3*d.InputCount()))
		d.Select(ex[0].Row, nil, nil)
		d.Learn(&ex[0])
		d.AppendState(nil)
	})
}

func FuzzDecodePart(f *testing.F) {
	s := modeltest.Schema()
	l, ex := modeltest.Generate(s, 100, 7)
	for _, o := range []Options{{Theta: Auto, Prototypes: 20}, {Theta: Auto, Prototypes: 20, Newest: 30}} {
		part, err := New(o, s).Fit(context.Background(), modeltest.Evidence(s, l, ex), nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(part)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Component{schema: s}
		if d.Rebase(&model.Rebase{Part: b}) != nil {
			return
		}
		d.Inputs(ex[0].Row, make([]float64, 3*d.InputCount()))
		d.Explain(ex[0].Row, nil)
	})
}

package modeltest

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

func testHostile(t *testing.T, x *fixture) {
	c := x.live(t, x.part, 0, x.examples)
	good := state(c)
	use := func(c model.Component) {
		x.inputs(c, x.examples[1].Row)
		learn(c, x.examples[:2])
		c.Retract(&x.examples[0])
		state(c)
	}
	load := func(b []byte) error {
		d := x.factory.New(x.levels)
		err := d.LoadState(b)
		if err == nil {
			use(d)
		}
		return err
	}
	serve := func(b []byte) error {
		d := x.factory.New(x.levels)
		err := d.Rebase(&model.Rebase{Part: b, Since: yield(nil)})
		if err == nil {
			use(d)
		}
		return err
	}
	cuts, flips := 200, 400
	if testing.Short() {
		cuts, flips = 40, 80
	}
	small := x.evidence(x.examples[:50])
	for _, b := range []struct {
		name string
		data []byte
		read func([]byte) error
	}{{"state", good, load}, {"part", x.part, serve}} {
		if len(b.data) == 0 {
			continue
		}
		step := max(len(b.data)/cuts, 1)
		for n := 0; n < len(b.data); n += step {
			if b.read(b.data[:n:n]) == nil && n > 0 {
				t.Errorf("%s cut at %d of %d bytes is accepted", b.name, n, len(b.data))
			}
		}
		if b.read(append(slices.Clone(b.data), 0)) == nil {
			t.Errorf("%s with a byte left over is accepted", b.name)
		}
		for i := range flips {
			h := model.Hash(3, uint64(i))
			bad := slices.Clone(b.data)
			bad[h%uint64(len(bad))] ^= byte(h>>32) | 1
			_ = b.read(bad)
			if b.name == "part" && i%20 == 0 {
				_, _ = x.factory.Fit(context.Background(), small, bad)
			}
			if b.name == "state" && i%20 == 0 {
				ev := *small
				ev.States = model.HeldStates(map[int32][]byte{0: bad})
				ev.Recodes, ev.Models = map[int32]model.Recode{}, map[int32]int64{0: 1}
				_, _ = x.factory.Fit(context.Background(), &ev, x.part)
			}
		}
	}
}

// testScorecard holds for a model.Scorecard only.
func testScorecard(t *testing.T, x *fixture) {
	s, ok := x.live(t, x.part, 0, nil).(model.Scorecard)
	if !ok {
		return
	}
	o := x.live(t, x.part, 0, nil).(model.Scorecard)
	classes := len(x.Schema.Classes)
	pending, p, again := make([]float64, s.PendingLen()), make([]float64, classes), make([]float64, classes)
	rows := slices.Clone(x.examples)
	missing := make(model.Row, len(x.Schema.Features))
	for f := range missing {
		missing[f] = math.NaN()
	}
	rows = append(rows, model.Example{Row: missing, Class: 0, Weight: 1, Clock: float64(len(rows))})
	for i := range rows {
		ex := &rows[i]
		before := state(s)
		s.Score(ex.Row, nil, pending, p)
		s.Score(ex.Row, nil, make([]float64, len(pending)), again)
		sum := 0.0
		for y, v := range p {
			if !(v > 0 && v < 1) || v != again[y] {
				t.Fatalf("record %d: propensity %v, then %v", i, v, again[y])
			}
			sum += v
		}
		if !(math.Abs(sum-1) <= 1e-12) {
			t.Fatalf("record %d: propensities sum to %v", i, sum)
		}
		for y := range p {
			effect := 0.0
			for _, r := range s.Effects(ex.Row, pending, int32(y), nil) {
				effect += r.Effect
			}
			if want := math.Log(p[y] / (1 - p[y])); !(math.Abs(effect-want) <= 1e-9*max(1, math.Abs(want))) {
				t.Fatalf("record %d class %d: contributions sum to %v, the log-odds are %v", i, y, effect, want)
			}
		}
		if !bytes.Equal(before, state(s)) {
			t.Fatalf("record %d: scoring changed the state", i)
		}
		s.LearnScored(ex, nil, pending)
		o.LearnScored(ex, nil, nil)
	}
	if !bytes.Equal(state(s), state(o)) {
		t.Error("learning with what Score remembered differs from learning at once")
	}
	rates := 0.0
	for y := range p {
		rates += s.BaseRate(int32(y))
	}
	if !(math.Abs(rates-1) <= 1e-9) {
		t.Errorf("base rates sum to %v", rates)
	}
}

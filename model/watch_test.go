package model_test

import (
	"bytes"
	"maps"
	"math"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// moved adds to the numbers of the records.
func moved(b *model.Batch) {
	for f := range b.Columns {
		for i := range b.Columns[f].Float {
			b.Columns[f].Float[i] += 20
		}
	}
}

// TestAWatchedPartition gives alarm where its features move, in messages of any size; a restored state goes on to the
// same alarms and bytes.
func TestAWatchedPartition(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.FalseAlarms = .01 })
	run := func(size int, restore bool) *model.Partition {
		p := model.NewPartition(spec, 0)
		for at := 0; at < 6000; at += 1000 {
			edit := moved
			if at < 4000 {
				edit = nil
			}
			if feed(p, at, at+1000, size, edit); restore {
				q, err := model.RestorePartition(spec, p.Snapshot())
				if err != nil {
					t.Fatal(err)
				}
				p = q
			}
			if at == 2000 {
				m, _ := fit(t, spec, p)
				if err := p.Swap(m); err != nil {
					t.Fatal(err)
				}
			}
		}
		return p
	}
	p := run(100, false)
	found := model.Watch(p).Found(0)
	if len(found) == 0 || found[0].Records <= 4000 || found[0].Records > 5000 {
		t.Fatalf("alarms %+v", found)
	}
	want := p.Snapshot()
	if got := run(100, true).Snapshot(); !maps.EqualFunc(got, want, bytes.Equal) {
		t.Error("a state that is read again and again ends in other bytes")
	}
	again := model.Watch(run(50, false)).Found(0)
	if len(again) != len(found) || again[0] != found[0] {
		t.Errorf("messages of another size: alarms %+v, were %+v", again, found)
	}
	damaged := p.Snapshot()
	damaged["drift"] = damaged["drift"][:len(damaged["drift"])-1]
	if _, err := model.RestorePartition(spec, damaged); err == nil {
		t.Error("a damaged section is read")
	}
}

// TestAWatchBegins where a state of a build without one gets its next model, and ends where the options ask for none;
// apart from its section, it leaves a state as it is.
func TestAWatchBegins(t *testing.T) {
	spec, plain := newSpec(func(o *model.Options) { o.FalseAlarms = .01 }), newSpec(nil)
	p, q := model.NewPartition(spec, 0), model.NewPartition(plain, 0)
	feed(p, 0, 2000, 100, nil)
	feed(q, 0, 2000, 100, nil)
	with, without := p.Snapshot(), q.Snapshot()
	section := with["drift"]
	if delete(with, "drift"); len(section) == 0 || !maps.EqualFunc(with, without, bytes.Equal) {
		t.Error("a watch changes other sections")
	}
	old, err := model.RestorePartition(spec, without)
	if err != nil || model.Watch(old) != nil {
		t.Fatalf("a state without the section: %v", err)
	}
	m, _ := fit(t, spec, p)
	if err := old.Swap(m); err != nil || model.Watch(old) == nil {
		t.Errorf("no watch with the next model: %v", err)
	}
	with["drift"] = section
	if off, err := model.RestorePartition(plain, with); err != nil || model.Watch(off) != nil {
		t.Errorf("no watch was asked for: %v", err)
	}
}

// TestAWatchHearsLabels that come with the event or later, and those of a partition that learns nothing.
func TestAWatchHearsLabels(t *testing.T) {
	spec := newSpec(func(o *model.Options) { o.FalseAlarms = .01 })
	p := model.NewPartition(spec, 0)
	feed(p, 0, 3000, 100, nil)
	m, _ := fit(t, spec, p)
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	before := model.Watch(p).Figures()
	feed(p, 3000, 3500, 100, func(b *model.Batch) { withhold(b, 1) })
	if f := model.Watch(p).Figures(); f.Labels != before.Labels || f.LogLoss != before.LogLoss {
		t.Errorf("figures %+v without labels, were %+v", f, before)
	}
	model.SetLearning(p, false)
	late := rows(3000, 500)
	for i, y := range late.Label {
		late.Label[i] = 1 - y
	}
	p.Labels(&model.Labels{N: 500, Class: late.Label, ID: late.ID})
	if f := model.Watch(p).Figures(); f.Labels <= before.Labels && f.LogLoss <= before.LogLoss {
		t.Errorf("figures %+v after late labels, were %+v", f, before)
	}
}

// TestAWatchTakesCodesAsMissing: a special code is no number, whose share would move the bins of the others.
func TestAWatchTakesCodesAsMissing(t *testing.T) {
	s := modeltest.Special()
	watched := func(code float64) []byte {
		w := model.NewWatch(s, .01, false)
		b := &model.Batch{N: 1}
		for i := range s.Features {
			c := model.Column{Float: []float64{0}}
			if s.Features[i].Kind != model.Continuous {
				c = model.Column{Code: []uint32{model.MissingCode}}
			}
			b.Columns = append(b.Columns, c)
		}
		for i := range 3000 {
			if b.Columns[0].Float[0] = float64(i % 100); i%3 == 0 {
				b.Columns[0].Float[0] = code
			}
			b.Offset = int64(i)
			model.WatchRecord(w, s, b, 0, 0, nil, false)
		}
		return w.AppendBinary(nil)
	}
	if !bytes.Equal(watched(s.Features[0].Special[0]), watched(math.NaN())) {
		t.Error("a special code is watched as a number")
	}
}

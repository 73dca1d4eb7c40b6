package model_test

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// sectionsSeen holds the bytes that each section had at its last version.
type sectionsSeen map[string]struct{ version, sum uint64 }

// look compares the sections of a partition with those of the last look, and returns the names of the changed ones.
func (s sectionsSeen) look(t *testing.T, step string, p *model.Partition) (changed []string) {
	t.Helper()
	for _, x := range p.Sections() {
		h := fnv.New64a()
		h.Write(x.Append(nil))
		was, known := s[x.Name]
		if known && was.sum != h.Sum64() {
			if changed = append(changed, x.Name); was.version == x.Version {
				t.Errorf("%s: section %s has other bytes and the same version", step, x.Name)
			}
		}
		s[x.Name] = struct{ version, sum uint64 }{x.Version, h.Sum64()}
	}
	return changed
}

// TestASectionThatChangesGetsAnotherVersion, by each command and each of its ways: else a snapshot would keep the old
// bytes.
func TestASectionThatChangesGetsAnotherVersion(t *testing.T) {
	modeltest.Computes(t)
	spec := newSpec(fullOptions)
	spec.Options.WaitWindow, spec.Options.WaitBytes = 0, 1<<24
	p := model.NewPartition(spec, 1)
	seen := sectionsSeen{}
	changed := map[string]bool{}
	look := func(step string) {
		for _, name := range seen.look(t, step, p) {
			changed[name] = true
		}
	}
	// Every third record waits for its label; the first times are ahead of stream time until it begins.
	edit := func(b *model.Batch) {
		withhold(b, 3)
		p.Sieve.Sift(b)
	}
	for i, ahead := range []int64{900, 2, 3} {
		feed(p, i, i+1, 1, func(b *model.Batch) { b.Time[0] = ahead * int64(time.Second) })
		look("times before it begins")
	}
	for i := 3; i < 7000; i += 250 {
		feed(p, i, min(i+250, 7000), 250, edit)
		look("events")
	}
	other := model.NewPartition(spec, 0) // it meets the levels in another order
	feed(other, 0, 900, 100, func(b *model.Batch) {
		for i := range b.Columns[1].Code {
			if k := &b.Columns[1].Code[i]; *k != model.MissingCode {
				*k = 3 - *k
			}
		}
	})
	for _, i := range []int{6200, 6500, 30, 6900} {
		b := rows(i, 60)
		p.Labels(&model.Labels{N: b.N, Class: b.Label, ID: b.ID})
		look("late labels")
		invert(b)
		if c := p.Labels(&model.Labels{N: b.N, Class: b.Label, ID: b.ID}); c.Corrected == 0 {
			t.Fatalf("at %d: labels %+v", i, c)
		}
		look("corrections")
	}
	if slices.Equal(other.Levels().Names(1)[:3], p.Levels().Names(1)[:3]) {
		t.Fatal("both partitions have met the levels in one order")
	}
	m, err := model.Fit(context.Background(), spec, snapshots(other, p), nil)
	if err != nil {
		t.Fatal(err)
	}
	clear(changed)
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	look("a swap")
	for _, name := range []string{"core", "levels", "reservoir", "tail/0", "pending/4", "model/propensity", "percentile"} {
		if !changed[name] {
			t.Errorf("a swap that recodes all records leaves %s as it was: the test would say nothing", name)
		}
	}
	for i := range 10 { // over a gap of a week
		feed(p, 7000+i, 7001+i, 1, func(b *model.Batch) {
			edit(b)
			b.Label[0] = model.Unlabelled
			b.Time[0] += int64(7*24*time.Hour) + int64(i)
		})
		look("a gap")
	}
	feed(p, 7010, 7020, 1, edit)
	look("events behind a gap")
	q := clone(t, spec, p)
	if changes := seen.look(t, "", p); len(changes) != 0 {
		t.Errorf("looking changes %q", changes)
	}
	if string(state(q)) != string(state(p)) {
		t.Error("the state that is read back is another one")
	}
}

// TestALateLabelIsLearntAsOfStreamTime where its record told a time that is ahead, and so is a record that expires.
func TestALateLabelIsLearntAsOfStreamTime(t *testing.T) {
	for _, expires := range []bool{false, true} {
		spec, s := spySpec(func(o *model.Options) {
			if o.WaitWindow = int64(time.Minute); expires {
				o.ExpireAs = 0
			}
		})
		p := model.NewPartition(spec, 0)
		feed(p, 0, 200, 100, nil)
		feed(p, 200, 201, 1, func(b *model.Batch) {
			b.Label[0], b.Time[0] = model.Unlabelled, int64(1000*time.Hour)
		})
		s.learnt = nil
		now, want := int64(199*time.Second), 1
		if expires {
			feed(p, 201, 261, 1, func(b *model.Batch) { b.Label[0] = model.Unlabelled })
			now, want = int64(260*time.Second), 201-139 // the windows of 139 had closed before
		} else if c := p.Labels(&model.Labels{N: 1, Class: []int32{0}, ID: []string{"c200"}}); c.Learnt != 1 {
			t.Fatalf("%+v", c)
		}
		if len(s.learnt) != want || want == 0 {
			t.Fatalf("expires %v: %d records are learnt, want %d", expires, len(s.learnt), want)
		}
		if at := s.learnt[want-1].Time; at != now {
			t.Errorf("expires %v: it is learnt as of %v, want %v", expires, time.Duration(at), time.Duration(now))
		}
	}
}

// TestACandidateThatCannotServeHasNoVerdict: its comparison ends with the error of the swap.
func TestACandidateThatCannotServeHasNoVerdict(t *testing.T) {
	spec := newSpec(nil)
	p := model.NewPartition(spec, 0)
	feed(p, 0, 500, 100, nil)
	m, from := fit(t, spec, p)
	feed(p, 500, 600, 100, nil)
	foreign, damaged := *m, *m
	foreign.Fingerprint++
	damaged.Parts = map[string][]byte{}
	for name, x := range map[string]*model.Model{"foreign": &foreign, "damaged": &damaged} {
		_, err := model.Compare(context.Background(), spec, x, from, snapshots(p), 100)
		if err == nil || name == "foreign" && !errors.Is(err, model.ErrModelForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := model.Compare(ctx, spec, m, from, snapshots(p), 100); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

package model_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// windowSpec is the specification of the golden files of stores in which labels wait for the end of windows.
func windowSpec(match model.Match) *model.Spec {
	spec := newSpec(windows(1500, 300))
	spec.Options.WaitBytes, spec.Options.Match = 1<<24, match
	return spec
}

// windowsOpen makes the partition of the golden files: 2,600 records of 700 ids, of which 800 are learnt; the others
// wait, some with a label, some passed over. Some labels come with the records, some late, some are corrected.
func windowsOpen(match model.Match) *model.Partition {
	p := model.NewPartition(windowSpec(match), 0)
	for i := 0; i < 2600; i += 10 {
		windowsGoOn(p, i)
	}
	return p
}

// windowsGoOn feeds ten records and labels of the stream of windowsOpen.
func windowsGoOn(p *model.Partition, i int) {
	feed(p, i, i+10, 10, func(b *model.Batch) {
		for k := range b.ID {
			b.ID[k] = fmt.Sprint("c", int(b.Row[k])*37%701)
		}
		withhold(b, 5)
	})
	l := &model.Labels{N: 3, Class: []int32{1, 0, 1}}
	for k := range l.N {
		l.ID = append(l.ID, fmt.Sprint("c", (i/10*53+k*211)%701))
	}
	p.Labels(l)
}

// TestGoldenWindows reads stores that a build wrote whose sections room/N held all of a record: labels that wait, ids
// that several records bear, and records that none of these means. They go on as a partition of this build does.
func TestGoldenWindows(t *testing.T) {
	modeltest.Computes(t)
	for match, name := range map[model.Match]string{model.MatchNewest: "newest", model.MatchAll: "all"} {
		file := "testdata/room-4-" + name + ".gz"
		if os.Getenv("LIFTSTREAM_GOLDEN") == "write rooms" { // by a build that has them
			writeSections(t, file, windowsOpen(match).Snapshot())
		}
		sections := readSections(t, file)
		if sections["room/1"] == nil || sections["pending/1"] != nil {
			t.Fatalf("%s: sections %v", file, slices.Sorted(maps.Keys(sections)))
		}
		now := windowsOpen(match)
		old, err := model.RestorePartition(windowSpec(match), sections)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		again := clone(t, windowSpec(match), old)
		for i := 2600; i < 5000; i += 10 {
			for _, p := range []*model.Partition{now, old, again} {
				windowsGoOn(p, i)
			}
		}
		want := now.Snapshot()
		for of, p := range map[string]*model.Partition{"old": old, "again": again} {
			got := p.Snapshot()
			for name := range want {
				if strings.HasPrefix(name, model.IDSections) || name == model.PartPercentileFine {
					continue // the old one knows the ids of no record that it had learnt, and no steps of its scores
				}
				if !strings.HasPrefix(name, "pending/") && !bytes.Equal(got[name], want[name]) {
					t.Errorf("%s, %s: section %s is another one", file, of, name)
				}
			}
			if p.Labelled() < 3000 || model.WaitsOf(p).Records != model.WaitsOf(now).Records {
				t.Errorf("%s, %s: %v are learnt, %+v wait, want %+v", file, of, p.Labelled(), model.WaitsOf(p),
					model.WaitsOf(now))
			}
		}
	}
}

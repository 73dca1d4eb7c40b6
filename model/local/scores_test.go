package local

import (
	"slices"
	"strconv"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// bank reads every ninth record of the bank marketing data, 5,000 of them, 16 features of which nine are nominal.
func bank(t testing.TB) *model.Evidence {
	t.Helper()
	lines := modeltest.CSV(t, modeltest.Shared(t, "data/bank_full.csv.gz"))
	head := lines[0][:len(lines[0])-1]
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	ev := &model.Evidence{Schema: s, Columns: make([][]float64, len(head)), Seed: 1}
	codes := make([][]string, len(head))
	for j, name := range head {
		kind := model.Continuous
		if _, err := strconv.ParseFloat(lines[1][j], 64); err != nil {
			kind = model.Nominal
		}
		s.Features = append(s.Features, model.Feature{Name: name, Kind: kind})
	}
	for i := 1; ev.Len() < 5000; i += 9 {
		for j := range head {
			v, err := strconv.ParseFloat(lines[i][j], 64)
			if s.Features[j].Kind == model.Nominal {
				k := slices.Index(codes[j], lines[i][j])
				if k < 0 {
					k, codes[j] = len(codes[j]), append(codes[j], lines[i][j])
				}
				v, err = float64(k), nil
			}
			if err != nil {
				t.Fatal(err)
			}
			ev.Columns[j] = append(ev.Columns[j], v)
		}
		ev.Class = append(ev.Class, int32(slices.Index(s.Classes, lines[i][len(head)])))
		ev.Weight, ev.Clock = append(ev.Weight, 1), append(ev.Clock, 0)
		ev.Time, ev.Partition = append(ev.Time, 0), append(ev.Partition, 0)
	}
	ev.Levels = model.NewLevels(s)
	return ev
}

// scores computes, from raw columns, the class-averaged scores of every feature at all of its values, and returns the
// means over the records less neutral.
func scores(t testing.TB, ev *model.Evidence, score Score) []float64 {
	classes := len(ev.Schema.Classes)
	x := &fitter{options: Options{}.withDefaults(), schema: ev.Schema, ev: ev, classes: classes}
	axes := x.axes(t.Context())
	shares, err := x.shares(axes)
	if err != nil {
		t.Fatal(err)
	}
	means := make([]float64, len(axes))
	for j := range axes {
		g := shares[0].counts[j]
		counts := g.counts(classes)
		mass, _ := g.around(&axes[j], classes, x.options.Width)
		for i := 0; i < len(mass); i += classes {
			means[j] += score.Location(mass[i:i+classes], counts) * total(g.n[i:i+classes])
		}
		means[j] = means[j]/total(counts) - score.Neutral(counts)
	}
	return means
}

// BenchmarkBankScores is our side of deploy/bench/local.py: the scores of all features from 5,000 bank records.
func BenchmarkBankScores(b *testing.B) {
	ev := bank(b)
	for _, score := range []Score{Hit, Balanced} {
		b.Run(score.String(), func(b *testing.B) {
			var means []float64
			from := modeltest.Processor()
			for b.Loop() {
				means = scores(b, ev, score)
			}
			b.ReportMetric((modeltest.Processor()-from).Seconds()/float64(b.N), "cpu-s/op")
			b.Logf("means %.5f", means)
		})
	}
}

package local

import (
	"slices"
	"testing"
)

// TestSynthetic: paper A's subspaces are nearer to the records' patterns than one subspace of the same size for all
// records.
func TestSynthetic(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for name, make := range map[string]func(uint64) Synthetic{"wide": WideSubspaces, "narrow": NarrowSubspaces} {
		for seed := range uint64(2) {
			g := make(seed)
			x, err := g.Run(t.Context(), Options{Theta: .4, Width: .02}, 500, 200)
			if err != nil {
				t.Fatal(err)
			}
			if x.Local.Precision <= x.Global.Precision || x.Local.Recall <= x.Global.Recall {
				t.Errorf("%s, seed %d: %+v", name, seed, x)
			}
		}
	}
}

// TestSyntheticPublished: with the distance chosen at the fit, published subspaces find more than half of a pattern's
// features, and few others.
func TestSyntheticPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for name, make := range map[string]func(uint64) Synthetic{"wide": WideSubspaces, "narrow": NarrowSubspaces} {
		g := make(1)
		for _, width := range []float64{.02, .05} {
			x, err := g.Run(t.Context(), Options{Theta: Auto, Width: width, Observations: 24}, 500, 200)
			if err != nil {
				t.Fatal(err)
			}
			if x.Published.Precision < .5 || x.Published.Recall < .5 {
				t.Errorf("%s, width %v: published %+v", name, width, x.Published)
			}
		}
	}
}

// TestGenerator: the same seed gives the same records, and classes, noise and sizes follow the settings.
func TestGenerator(t *testing.T) {
	g, h := WideSubspaces(3), WideSubspaces(3)
	noise := 0
	counts := make([]int, 4)
	for i := range 2000 {
		row, class, truth := g.Record(i)
		again, _, _ := h.Record(i)
		if !slices.Equal(row, again) {
			t.Fatal("the same seed gives other records")
		}
		counts[class]++
		if truth == nil {
			noise++
		} else if len(truth) < 5 || len(truth) > 15 || !slices.IsSorted(truth) {
			t.Fatalf("subspace %v", truth)
		}
	}
	if noise < 240 || noise > 360 || slices.Min(counts) < 400 {
		t.Errorf("%d records of noise, classes %v", noise, counts)
	}
}

// BenchmarkSynthetic reports the means over 20 seeds, and the seeds on which the subspaces win over either choice for
// all records.
func BenchmarkSynthetic(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(uint64) Synthetic
	}{{"wide", WideSubspaces}, {"narrow", NarrowSubspaces}} {
		b.Run(c.name, func(b *testing.B) {
			const seeds = 20
			for b.Loop() {
				figures := map[string]float64{}
				for seed := range uint64(seeds) {
					g := c.make(seed)
					x, err := g.Run(b.Context(), Options{Theta: Auto, Width: .02}, 500, 200)
					if err != nil {
						b.Fatal(err)
					}
					if x.Local.Recall > x.Global.Recall && x.Local.Precision > x.Global.Precision {
						figures["wins"]++
					}
					if x.Local.Recall > x.Frequent.Recall && x.Local.Precision > x.Frequent.Precision {
						figures["frequentwins"]++
					}
					for name, v := range map[string]float64{
						"recall": x.Local.Recall, "precision": x.Local.Precision,
						"globalrecall": x.Global.Recall, "globalprecision": x.Global.Precision,
						"frequentrecall": x.Frequent.Recall, "frequentprecision": x.Frequent.Precision,
						"publishedrecall": x.Published.Recall, "publishedprecision": x.Published.Precision,
						"publishedfeatures": x.PublishedSize, "features": x.Size,
						"chance": x.Chance, "accuracy": x.Accuracy, "plain": x.Plain,
					} {
						figures[name] += v / seeds
					}
				}
				for name, v := range figures {
					b.ReportMetric(v, name)
				}
			}
		})
	}
}

package propensity

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
)

// evaluated computes the log-odds of a row by the formula of METHOD.md 10 alone; V are the values of the inputs.
func evaluated(a *Additive, row model.Row, values []float64) (sum float64) {
	for k, m := range a.Margins {
		z := m.Intercept
		for i := range a.Features {
			f := &a.Features[i]
			v := row[f.Feature]
			switch {
			case model.SpecialOf(v) >= 0:
				z += f.Special[model.SpecialOf(v)][k]
			case math.IsNaN(v) || f.Pieces != nil && math.IsInf(v, 0) || f.Pieces == nil && v < 0:
				z += f.Missing[k]
			case f.Pieces == nil && int(v) < len(f.Levels):
				z += f.Levels[int(v)][k]
			case f.Pieces == nil:
				z += f.Other[k]
			default:
				p := f.Pieces[slices.IndexFunc(f.Pieces, func(p Piece) bool { return v < p.End || p.Closed && v == p.End })]
				z += p.Constant[k]
				if p.Slope[k] != 0 {
					z += p.Slope[k] * (v - p.Origin)
				}
				for _, t := range p.Logs {
					z += t.Weight[k] * math.Log((t.A+t.B*(v-p.Origin))/(1+t.C*(v-p.Origin)))
				}
			}
		}
		for b, block := range a.Inputs {
			for j := range block {
				z += block[j][k] * values[b*len(block)+j]
			}
		}
		last := len(m.Z) - 1
		switch j, _ := slices.BinarySearch(m.Z, z); {
		case j == 0:
			sum += m.Value[0] + m.Share*(z-m.Z[0])
		case j > last:
			sum += m.Value[last] + m.Share*(z-m.Z[last])
		default:
			sum += m.Value[j-1] + (m.Value[j]-m.Value[j-1])*(z-m.Z[j-1])/(m.Z[j]-m.Z[j-1])
		}
	}
	return sum
}

// TestAdditiveIsTheScore compares the sum of effects with the mixture's log-odds, of trained scorecards and of ones
// that have learnt on, at values of records, at the ends of pieces and next to them, at missing and unknown values.
func TestAdditiveIsTheScore(t *testing.T) {
	for name, schema := range schemas() {
		if len(schema.Classes) == 2 {
			additive(t, name, schema, Default(), 400)
		}
	}
	two := schemas()["two"]
	o := Default()
	o.Linear = false
	additive(t, "no linear inputs", two, o, 400)
	o = Default()
	o.HalfLives = []model.HalfLife{{Records: 50}}
	additive(t, "one half-life", two, o, 400)
	o = Default()
	o.Blocks = []Block{{Name: "sets", Inputs: 2, Fitted: true}}
	additive(t, "sets", two, o, 400)
	o = Default()
	o.Cells = 40
	additive(t, "many cells", two, o, 3000)
}

func additive(t *testing.T, name string, schema *model.Schema, o Options, n int) {
	t.Run(name, func(t *testing.T) {
		s, ex := trained(t, schema, n, o)
		inputs := make([]float64, 4*len(o.Blocks))
		for i := range inputs {
			inputs[i] = float64(i*i%5) - 1
		}
		var values []float64
		for j := 0; j+1 < len(inputs); j += 2 {
			values = append(values, inputs[j+1]-inputs[j])
		}
		for round := range 3 {
			a, err := AdditiveOf(s)
			if err != nil {
				t.Fatal(err)
			}
			for i := range a.Features {
				if f := &a.Features[i]; f.Pieces != nil {
					last := len(f.Pieces) - 1
					if got, want := f.Records[last], s.records(i, s.axes[i].find(math.MaxFloat64)); got != want {
						t.Fatalf("feature %d: %v records in the last piece, its cell has %v", i, got, want)
					}
				}
			}
			rows := oddRows(schema, a)
			for i := range ex {
				rows = append(rows, ex[i].Row)
			}
			for _, row := range rows {
				p, pending := make([]float64, 2), make([]float64, s.PendingLen())
				s.Score(row, inputs, pending, p)
				want := s.memoryOf(pending).mixed[0]
				if got := evaluated(a, row, values); !(math.Abs(got-want) <= 1e-9) {
					t.Fatalf("round %d: a sum of %v, the log-odds of %v are %v", round, got, row, want)
				}
			}
			for i := range 150 { // far from each other, so that the cards differ
				e := ex[i]
				e.Clock = s.clock.records
				s.LearnScored(&e, inputs, nil)
			}
			s.lag = 100
			s.refresh()
		}
	})
}

// oddRows returns rows at the ends of all pieces, next to them, between and far beyond, and with missing and unknown
// values, feature by feature.
func oddRows(schema *model.Schema, a *Additive) (rows []model.Row) {
	for i := range a.Features {
		f := &a.Features[i]
		values := []float64{}
		for k := range f.Special {
			values = append(values, model.SpecialCell(k))
		}
		values = append(values, math.NaN(), 0, 1, 2, 77, 3000, model.MaxLevels, math.MaxFloat64)
		for _, p := range f.Pieces {
			values = append(values, p.End, math.Nextafter(p.End, math.Inf(-1)), math.Nextafter(p.End, math.Inf(1)),
				p.Origin, p.End/2+p.Origin/2, -p.End, p.End*1e7)
		}
		for _, v := range values {
			if f.Pieces == nil && v > model.MaxLevels {
				continue
			}
			row := make(model.Row, len(schema.Features))
			for k := range row {
				row[k] = math.NaN()
			}
			row[f.Feature] = v
			rows = append(rows, row)
		}
	}
	return rows
}

// TestMarginsMerge: cards with the same effects become one margin, whose curve is the sum of theirs.
func TestMarginsMerge(t *testing.T) {
	schema := schemas()["two"]
	s, _ := trained(t, schema, 400, Default())
	a, err := AdditiveOf(s)
	if err != nil {
		t.Fatal(err)
	}
	share := 0.
	for _, m := range a.Margins {
		share += m.Share
	}
	if len(a.Margins) < 2 || math.Abs(share-1) > 1e-9 {
		t.Errorf("%d margins of a stream, which share %v", len(a.Margins), share)
	}
	for k := range s.cur.in {
		s.cur.in[k].w = [cards]float64{.1, .1, .1, .1}
	}
	for f := range s.cur.feat {
		for k := range s.cur.feat[f].pair {
			s.cur.feat[f].pair[k].w = [cards]float64{.2, .2, .2, .2}
		}
	}
	for k := range s.cur.own {
		s.cur.own[k].w = [cards]float64{.3, .3, .3, .3}
	}
	if a, err = AdditiveOf(s); err != nil || len(a.Margins) != 1 {
		t.Errorf("%d margins of equal cards: %v", len(a.Margins), err)
	}
	if a != nil && math.Abs(a.Margins[0].Share-1) > 1e-9 {
		t.Errorf("the only margin has the share %v", a.Margins[0].Share)
	}
}

// TestWhatIsNoSum lists the scorecards that no sum of effects describes.
func TestWhatIsNoSum(t *testing.T) {
	for name, schema := range schemas() {
		if _, err := AdditiveOf(newScorecard(newPlan(Default(), schema))); err == nil {
			t.Errorf("%s: an empty scorecard is a sum", name)
		}
		if len(schema.Classes) == 2 {
			continue
		}
		s, _ := trained(t, schema, 200, Default())
		if _, err := AdditiveOf(s); err == nil {
			t.Errorf("%s: %d classes are a sum", name, len(schema.Classes))
		}
	}
	o := Default()
	o.Follow = true
	s, _ := trained(t, schemas()["two"], 200, o)
	if _, err := AdditiveOf(s); err == nil {
		t.Error("effects that are bent to their lifts are a sum")
	}
}

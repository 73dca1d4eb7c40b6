package modeltest

import (
	"fmt"
	"math"

	"liftstream/model"
)

// Generate returns n labelled records of the schema with their levels: every feature carries a different amount of
// evidence about the class, numbers have ties, one value in twelve is missing and, of a
// feature with special codes, one in six such a code, features with learnt levels meet new
// ones late, weights are 1 to 3. The same seed gives the same records.
func Generate(s *model.Schema, n int, seed uint64) (*model.Levels, []model.Example) {
	l := model.NewLevels(s)
	out := make([]model.Example, n)
	for i := range out {
		ex := &out[i]
		u := func(what uint64) float64 {
			return float64(model.Hash(seed, uint64(i), what)>>11) / (1 << 53)
		}
		ex.Class = int32(math.Floor(u(1) * u(2) * float64(len(s.Classes))))
		ex.Weight = 1 + math.Floor(3*u(3)*u(4))
		ex.Clock, ex.Time = float64(i), int64(i)*1e9
		ex.Row = make(model.Row, len(s.Features))
		for f := range s.Features {
			pull := float64(ex.Class) * float64(f%4) / 3
			at := uint64(10 + 10*f)
			noise := math.Sqrt(-2*math.Log(1-u(at))) * math.Cos(2*math.Pi*u(at+1))
			switch feature := &s.Features[f]; {
			case u(at+2) < 1.0/12:
				ex.Row[f] = math.NaN()
			case len(feature.Special) > 0 && u(at+2) < 1.0/4:
				k := int(math.Abs(pull + noise))
				ex.Row[f] = model.SpecialCell(k % len(feature.Special))
			case feature.Kind == model.Continuous:
				v := pull + noise
				if f%2 == 1 {
					v = math.Round(v * 2)
				}
				ex.Row[f] = v
			default:
				levels := len(feature.Levels)
				var text string
				k := int(math.Abs(2*pull + 1.5*noise))
				if levels > 0 {
					text = feature.Levels[min(k, levels-1)]
				} else {
					text = fmt.Sprintf("level %d", k%(2+i*6/n))
				}
				ex.Row[f] = float64(l.Code(f, text))
			}
		}
	}
	return l, out
}

// Schema returns a schema with every kind of feature and three classes.
func Schema() *model.Schema {
	return &model.Schema{
		Features: []model.Feature{
			{Name: "a", Kind: model.Continuous},
			{Name: "b", Kind: model.Continuous},
			{Name: "c", Kind: model.Nominal},
			{Name: "d", Kind: model.Continuous},
			{Name: "e", Kind: model.Ordinal, Levels: []string{"low", "middle", "high"}},
			{Name: "f", Kind: model.Nominal, Levels: []string{"red", "green"}},
			{Name: "g", Kind: model.Nominal},
			{Name: "h", Kind: model.Continuous},
			{Name: "z", Kind: model.Continuous, Use: model.UseReport},
		},
		Classes:  []string{"no", "maybe", "yes"},
		Positive: 2,
	}
}

// Special returns Schema with special codes of two features, and two classes.
func Special() *model.Schema {
	s := Schema()
	s.Classes, s.Positive = []string{"no", "yes"}, 1
	s.Features[0].Special, s.Features[3].Special = []float64{-999}, []float64{-999, -888, 1e6}
	return s
}

// Evidence lays examples out as a Fit sees them: one partition, everything recent, no states.
func Evidence(s *model.Schema, l *model.Levels, ex []model.Example) *model.Evidence {
	ev := &model.Evidence{Schema: s, Levels: l, Columns: make([][]float64, len(s.Features)), Seed: 1}
	for f := range ev.Columns {
		ev.Columns[f] = make([]float64, len(ex))
	}
	ev.Partition = make([]int32, len(ex))
	for i := range ex {
		for f, v := range ex[i].Row {
			ev.Columns[f][i] = v
		}
		ev.Class = append(ev.Class, ex[i].Class)
		ev.Weight = append(ev.Weight, ex[i].Weight)
		ev.Clock = append(ev.Clock, ex[i].Clock)
		ev.Time = append(ev.Time, ex[i].Time)
	}
	return ev
}

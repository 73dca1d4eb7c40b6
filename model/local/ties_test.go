package local

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// leveled returns n records of the given number of features, nominal and integer in turn, with five values each. The
// class is yes with a chance of .3 or, with signal, of .1 to .5 by the first value.
func leveled(n, features int, signal bool) (*model.Schema, []model.Example) {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for j := range features {
		f := model.Feature{Name: fmt.Sprint("f", j), Kind: model.Nominal}
		if j%2 == 1 {
			f.Kind = model.Continuous
		}
		s.Features = append(s.Features, f)
	}
	ex := make([]model.Example, n)
	for i := range ex {
		row := make(model.Row, features)
		for j := range row {
			row[j] = float64(model.Hash(1, uint64(i), uint64(j)) % 5)
		}
		p := uint64(30)
		if signal {
			p = 10 + 10*uint64(row[0])
		}
		ex[i] = model.Example{Row: row, Weight: 1, Clock: float64(i)}
		if model.Hash(2, uint64(i))%100 < p {
			ex[i].Class = 1
		}
	}
	return s, ex
}

func evidence(s *model.Schema, ex []model.Example) *model.Evidence {
	l := model.NewLevels(s)
	for f := range s.Features {
		for v := 0; v < 5 && s.Features[f].Kind == model.Nominal; v++ {
			l.Code(f, fmt.Sprint(v))
		}
	}
	return modeltest.Evidence(s, l, ex)
}

// TestEqualNeighboursCountByTheirShares: where more prototypes lie at the distance of the last neighbour than votes are
// left, the votes go by the classes of all of them, in any order. For records of one cell this is the share of the
// classes in it.
func TestEqualNeighboursCountByTheirShares(t *testing.T) {
	for _, features := range []int{1, 2, 3} {
		for _, signal := range []bool{false, true} {
			s, ex := leveled(1000, features, signal)
			o := Options{Theta: 0, Prototypes: 1000}
			c := fit(t, o, s, evidence(s, ex))
			p := c.structure.prototypes
			// The same records, all of which are prototypes, by class.
			sorted := slices.Clone(ex)
			slices.SortStableFunc(sorted, func(a, b model.Example) int { return cmp.Compare(a.Class, b.Class) })
			for i := range sorted {
				sorted[i].Clock = float64(i)
			}
			by := fit(t, o, s, evidence(s, sorted))
			in, out := make([]float64, 2), make([]float64, 2)
			cells := 0
			for i := range ex {
				c.Inputs(ex[i].Row, in)
				if by.Inputs(ex[i].Row, out); !slices.Equal(in, out) {
					t.Fatalf("%d features: record %d: inputs %v, of records sorted by class %v", features, i, in, out)
				}
				var n [2]float64
				for k := range ex {
					if slices.Equal(ex[k].Row, ex[i].Row) {
						n[ex[k].Class]++
					}
				}
				if n[0]+n[1] < 8 {
					continue
				}
				cells++
				votes := 8 * n[1] / (n[0] + n[1])
				want := (votes + p.prior[1]) / 9 // all prototypes are the stream's
				if got := c.structure.base[1] * math.Exp(in[1]); math.Abs(got-want) > 1e-12 {
					t.Fatalf("%d features: record %d: share %v, want %v of %v", features, i, got, want, n)
				}
				// Left out, the record itself is one less, and no other.
				n[ex[i].Class]--
				if n[0]+n[1] < 8 {
					continue
				}
				c.InputsWithout(&ex[i], in)
				want = (8*n[1]/(n[0]+n[1]) + p.prior[1]) / 9
				if got := c.structure.base[1] * math.Exp(in[1]); math.Abs(got-want) > 1e-12 {
					t.Fatalf("%d features: record %d left out: share %v, want %v", features, i, got, want)
				}
			}
			if cells < 300 {
				t.Errorf("%d features: %d records in cells of at least 8", features, cells)
			}
		}
	}
}

// TestARecordThatIsNoPrototypeIsNotLeftOut, though a prototype of equal values is.
func TestARecordThatIsNoPrototypeIsNotLeftOut(t *testing.T) {
	s, ex := leveled(1000, 1, false)
	c := fit(t, Options{Theta: 0, Prototypes: 100}, s, evidence(s, ex))
	with, without := make([]float64, 2), make([]float64, 2)
	out := 0
	for i := range ex {
		c.Inputs(ex[i].Row, with)
		c.InputsWithout(&ex[i], without)
		if !slices.Equal(with, without) {
			out++
		}
	}
	if out != 100 {
		t.Errorf("%d records are left out, of 100 prototypes", out)
	}
}

// TestTiedVotes: two of three equal neighbours have two votes, by closeness or not, and the third has part in them.
func TestTiedVotes(t *testing.T) {
	near, ties := []neighbour{{1, 0}, {4, 1}, {4, 2}}, []int32{3}
	class := []int32{0, 1, 1, 0}
	votes, far := make([]float64, 2), make([]float64, 2)
	vote(near, ties, class, false, votes, far)
	if math.Abs(math.Round(votes[0]*100)/100-1.67) > .01 || math.Abs(votes[1]-4./3) > .01 {
		t.Errorf("votes %v", votes)
	}
	vote(near, ties, class, true, votes, far)
	// s = 1/5 + 4/50, the farther ones weigh s / (3 + s) each, two thirds of two of them for class 1.
	v := .28 / 3.28
	sum := 1 + 2*v
	if want := 3 * (4. / 3 * v) / sum; math.Abs(votes[1]-want) > 1e-12 || math.Abs(total(votes)-3) > 1e-12 {
		t.Errorf("votes by closeness %v, want %v", votes, want)
	}
}

package model

import (
	"bytes"
	"math"
	"os"
	"slices"
	"testing"

	"liftstream/model/wire"
)

// doubtRow is row i: a continuous, an ordinal and a continuous feature, of which the last is missing in a tenth.
func doubtRow(i int) Row {
	u := func(k int) float64 { return float64(Hash(5, uint64(i), uint64(k))>>11) / (1 << 53) }
	row := Row{u(1), math.Floor(4 * u(2)), u(3)}
	if u(4) < .1 {
		row[2] = math.NaN()
	}
	return row
}

func doubtSchema() *Schema {
	return &Schema{Features: []Feature{{Name: "a"}, {Name: "o", Kind: Ordinal, Levels: []string{"1", "2", "3", "4"}},
		{Name: "b"}}, Classes: []string{"no", "yes"}, Positive: 1}
}

// misfitAfter feeds n records, foretold as p, whose log-odds are off by off.
func misfitAfter(n int, p float64, off func(row Row) float64) *misfit {
	return misfitForetold(n, func(Row) float64 { return p }, off)
}

// misfitForetold is misfitAfter of propensities that depend on the row.
func misfitForetold(n int, foretold, off func(row Row) float64) *misfit {
	d := newMisfit(doubtSchema())
	for i := range n {
		row := doubtRow(i)
		p := foretold(row)
		d.meet(row, []Reason{{Effect: .5}, {Effect: -.25}, {Effect: 0}})
		true := 1 / (1 + math.Exp(-math.Log(p/(1-p))-off(row)))
		y := 0.
		if float64(Hash(6, uint64(i))>>11)/(1<<53) < true {
			y = 1
		}
		d.learn(row, nil, y, p, 1)
	}
	return d
}

// TestMisfitFindsPlantedErrors: the misfit is the mean square of the planted error of the log-odds, of one feature, of
// a constant, and of two features together, and about 0 where there is none.
func TestMisfitFindsPlantedErrors(t *testing.T) {
	for _, c := range []struct {
		name            string
		off             func(row Row) float64
		want, tolerance float64
	}{
		{"none", func(Row) float64 { return 0 }, 0, .02},
		{"constant", func(Row) float64 { return .4 }, .16, .04},
		{"one feature", func(row Row) float64 { return .5 * (2*math.Floor(row[0]*2) - 1) }, .25, .05},
		{"two features", func(row Row) float64 {
			if (row[0] > .5) != (row[1] > 1) {
				return .6
			}
			return -.6
		}, .36, .06},
	} {
		if got := misfitAfter(20000, .4, c.off).square; !(math.Abs(got-c.want) < c.tolerance) {
			t.Errorf("%s: misfit %v, want %v", c.name, got, c.want)
		}
	}
}

// TestNoiseOfPairsHidesNoError: of a rare class the sum over pairs is below 0; the error of one feature counts all the
// same, and nothing is below 0.
func TestNoiseOfPairsHidesNoError(t *testing.T) {
	for rate, least := range map[float64]float64{.005: 0, .02: .05, .4: .2} {
		d := misfitAfter(3000, rate, func(row Row) float64 { return .6 * (2*math.Floor(row[0]*2) - 1) })
		one := 0.
		mean := misfitOf(d.sums[:1])
		for i := range d.alone {
			one += misfitOf(d.sums[1+i*misfitCells:][:misfitCells]) - mean
		}
		if d.square < least || d.square < .7*one {
			t.Errorf("rate %v: misfit %v, of single features %v", rate, d.square, one)
		}
	}
}

// slowSums are those of a stream of misfitForetold with a feature of each of the pairs, each kept apart.
type slowSums struct {
	cells                                    map[[4]int]*misfitSum // features and cells, -1 = none
	scores                                   map[[2]int]*misfitScore
	spread, residual, once, twice, all, mean float64
}

// slowly sums the records after the first ones anew, each with the part that has not faded.
func slowly(d *misfit, n int, foretold, off func(row Row) float64) *slowSums {
	s := &slowSums{cells: map[[4]int]*misfitSum{}, scores: map[[2]int]*misfitScore{}}
	for k := range n {
		row := doubtRow(firstRecords - 1 + k) // records before the cells are not learnt
		p, y := foretold(row), 0.
		z := math.Log(p / (1 - p))
		if float64(Hash(6, uint64(firstRecords-1+k))>>11)/(1<<53) < 1/(1+math.Exp(-z-off(row))) {
			y = 1
		}
		age := 1.
		for end := k/misfitBlock*misfitBlock + misfitBlock; end < n; end += misfitBlock {
			age *= math.Exp2(-misfitBlock / min(misfitHalf, max(float64(end)/2, misfitBlock)))
		}
		cell := func(f int) int {
			if math.IsNaN(row[f]) {
				return 4
			}
			if f == 1 {
				return int(row[1])
			}
			c := 0
			for _, cut := range d.cuts[3*f : 3*f+3] {
				if row[f] >= cut {
					c++
				}
			}
			return c
		}
		r, v := y-p, p*(1-p)
		add := func(k [4]int) {
			if s.cells[k] == nil {
				s.cells[k] = &misfitSum{}
			}
			c := s.cells[k]
			c.residual, c.square, c.information = c.residual+age*r, c.square+age*age*r*r, c.information+age*v
		}
		add([4]int{-1, -1, -1, -1})
		for f := range 3 {
			add([4]int{f, cell(f), -1, -1})
			at := [2]int{f, cell(f)}
			if s.scores[at] == nil {
				s.scores[at] = &misfitScore{}
			}
			s.scores[at].information += age * v
			s.scores[at].moment += age * v * z
			for g := range f {
				add([4]int{f, cell(f), g, cell(g)})
			}
		}
		s.all, s.mean, s.spread = s.all+age*v, s.mean+age*v*z, s.spread+age*v*z*z
		s.residual, s.once, s.twice = s.residual+age*r*z, s.once+age*age*r*r*z, s.twice+age*age*r*r*z*z
	}
	s.mean /= s.all
	return s
}

// of is T of the cells of features f and g, -1 = none.
func (s *slowSums) of(f, g int) float64 {
	sum, all := 0., 0.
	for k, c := range s.cells {
		if k[0] == f && k[2] == g {
			all += c.information
			if c.information > 1 {
				sum += (c.residual*c.residual - c.square) / c.information
			}
		}
	}
	return sum / all
}

// TestMisfitBySlowSums: the misfit and its slope are those of sums over all records and pairs of features.
func TestMisfitBySlowSums(t *testing.T) {
	const n = 20 * misfitBlock
	foretold := func(row Row) float64 { return .1 + .3*row[0] }
	for name, off := range map[string]func(row Row) float64{
		"one feature": func(row Row) float64 { return 3*row[0] - 1 },
		"along":       func(row Row) float64 { return .8 * (math.Log(foretold(row)/(1-foretold(row))) + 1) },
	} {
		d := misfitForetold(firstRecords-1+n, foretold, off)
		s := slowly(d, n, foretold, off)
		one, two := 0., 0.
		for f := range 3 {
			one += s.of(f, -1) - s.of(-1, -1)
			for g := range f {
				two += s.of(f, g) - s.of(f, -1) - s.of(g, -1) + s.of(-1, -1)
			}
		}
		variance, between := s.spread/s.all-s.mean*s.mean, 0.
		for _, c := range s.scores {
			off := c.moment/c.information - s.mean
			between += c.information * off * off / s.all
		}
		want := max(s.of(-1, -1), 0) + max(one, 0)/max(between/variance, 1) + max(two, 0) + 1/s.all
		if !(math.Abs(d.square-want) < 1e-9) {
			t.Errorf("%s: misfit %v, slow sums say %v", name, d.square, want)
		}
		whole := s.cells[[4]int{-1, -1, -1, -1}]
		r := s.residual - s.mean*whole.residual
		slope := math.Sqrt(r*r-(s.twice-2*s.mean*s.once+s.mean*s.mean*whole.square)) / (variance * s.all)
		if !(math.Abs(d.slope-slope) < 1e-9) || !(math.Abs(d.center-s.mean) < 1e-9) {
			t.Errorf("%s: slope %v about %v, slow sums say %v about %v", name, d.slope, d.center, slope, s.mean)
		}
	}
}

// TestLeanIsThePlantedSlope: log-odds that are half as steep as they ought to be have the slope 1, log-odds that are
// twice as steep -1/2, and right ones none.
func TestLeanIsThePlantedSlope(t *testing.T) {
	foretold := func(row Row) float64 { return 1 / (1 + math.Exp(.3-2*row[0])) }
	for _, by := range []float64{-.5, 0, 1} {
		d := misfitForetold(20000, foretold, func(row Row) float64 { return by * (2*row[0] - 1) })
		if math.Abs(d.slope-by) > .15 {
			t.Errorf("slope %v, want %v", d.slope, by)
		}
	}
}

// TestFeaturesThatGoTogetherAreSeenOnce: where three features are one, the error of each is the same, and counts once.
func TestFeaturesThatGoTogetherAreSeenOnce(t *testing.T) {
	s := &Schema{Features: []Feature{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Classes: []string{"no", "yes"}, Positive: 1}
	d := newMisfit(s)
	for i := range 20000 {
		u := func(k int) float64 { return float64(Hash(8, uint64(i), uint64(k))>>11) / (1 << 53) }
		row := Row{u(1), u(1), u(1)}
		d.meet(row, []Reason{{}, {}, {}})
		z := 2*row[0] - 1
		y := 0.
		if u(2) < 1/(1+math.Exp(-z-.5*math.Copysign(1, z))) {
			y = 1
		}
		d.learn(row, nil, y, 1/(1+math.Exp(-z)), 1)
	}
	if d.square < .2 || d.square > .32 || d.seen() < 2.5 {
		t.Errorf("misfit %v of a planted .25, seen %v times", d.square, d.seen())
	}
}

// TestGoldenMisfit: the bytes stay as they are, and no others give a panic or a number that no state can hold.
func TestGoldenMisfit(t *testing.T) {
	const file, former = "testdata/misfit-2", "testdata/misfit-1"
	d := misfitForetold(1000, func(row Row) float64 { return .3 + .2*row[0] }, func(row Row) float64 { return row[0] })
	b := d.append(nil)
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := newMisfit(doubtSchema())
	if err := old.read(golden); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old.append(nil), golden) {
		t.Error("the golden bytes are not written as they were read")
	}
	if a, b := old, d; math.Abs(a.square-b.square) > 1e-9 || math.Abs(a.slope-b.slope) > 1e-9 ||
		math.Abs(a.center-b.center) > 1e-9 || math.Abs(a.effect[0]-b.effect[0]) > 1e-12 {
		t.Errorf("misfit %v, slope %v about %v; were %v, %v, %v", b.square, b.slope, b.center, a.square, a.slope, a.center)
	}
	before, err := os.ReadFile(former)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.read(before); err != nil {
		t.Fatal(err)
	}
	if x := old.sums[0]; math.Abs(old.effect[0]-(20*.0625+1000*.25)/1020) > 1e-12 || !(x.information > 100) ||
		!(x.residual > 10) || old.n != 745 || !(old.square > 0) || old.slope != 0 || old.scores[0].information != 0 {
		t.Errorf("format 1: %+v", old)
	}
	for i := range 10 * misfitBlock { // it goes on, and learns the slope
		row := doubtRow(i)
		old.learn(row, nil, math.Round(row[0]), .3+.2*row[0], 1)
	}
	if !(old.slope > .1) || math.IsNaN(old.square) {
		t.Errorf("after format 1: misfit %v, slope %v", old.square, old.slope)
	}
	early := misfitAfter(100, .4, func(Row) float64 { return 0 }).append(nil)
	for _, good := range [][]byte{golden, early, before} {
		if err := newMisfit(doubtSchema()).read(good); err != nil {
			t.Error(err)
		}
		for i := range good {
			x := newMisfit(doubtSchema())
			if x.read(good[:i]) == nil {
				t.Errorf("the first %d bytes are read", i)
			}
			bad := slices.Clone(good)
			bad[i] ^= 0xff
			if x = newMisfit(doubtSchema()); x.read(bad) == nil {
				x.learn(doubtRow(1), nil, 1, .4, 1)
				if x.look(); len(x.cuts) > 0 && math.IsNaN(x.square) {
					t.Fatalf("byte %d: no misfit", i)
				}
			}
		}
	}
	if err := newMisfit(doubtSchema()).read(wire.AppendUvarint(nil, 3)); err == nil {
		t.Error("another format is read")
	}
}

// TestBytesOfAMisfit: the section is as large as stream/state/FORMAT.md says, just before the cuts are made.
func TestBytesOfAMisfit(t *testing.T) {
	const features = misfitAlone + 100
	s := &Schema{Features: make([]Feature, features), Classes: []string{"no", "yes"}, Positive: 1}
	d := newMisfit(s)
	for range firstRecords - 1 {
		d.meet(make(Row, features), nil)
	}
	if n := len(d.append(nil)); len(d.cuts) > 0 || n > 340<<10+8*(features-misfitAlone) || n < 320<<10 {
		t.Errorf("%d bytes, with %d cuts", n, len(d.cuts))
	}
}

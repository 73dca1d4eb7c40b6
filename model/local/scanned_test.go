package local

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// served returns the component with its neighbours sought that way.
func served(t *testing.T, c *Component, w way) *Component {
	t.Helper()
	d := &Component{schema: c.schema, span: c.span}
	if err := d.LoadState(c.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	d.structure.way = w
	d.structure.prepare()
	d.install(d.structure, d.own)
	d.newest.rebase(d.structure, nil)
	if d.structure.prototypes.scanned && w == byPacks {
		t.Fatal("package scan is used")
	}
	return d
}

// someRecords are records of two classes with these features. Of cells, one in seven is missing. Numbers have that many
// values, 0 = no two alike, and levels half as many; every third feature tells about the class.
func someRecords(kinds []model.Kind, values, n int, seed uint64) *model.Evidence {
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for j, k := range kinds {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprintf("f%d", j), Kind: k})
	}
	l := model.NewLevels(s)
	var ex []model.Example
	for i := range n {
		e := model.Example{Row: make(model.Row, len(kinds)), Class: int32(model.Hash(seed, uint64(i)) % 2), Weight: 1,
			Clock: float64(i)}
		for j, k := range kinds {
			h := model.Hash(seed, uint64(i), uint64(j))
			v := float64(h>>20) / (1 << 44)
			if j%3 == 0 {
				v = (v + float64(e.Class)) / 2
			}
			if values > 0 {
				v = math.Floor(v * float64(values))
			}
			if k == model.Nominal {
				v = float64(l.Code(j, fmt.Sprint(math.Floor(v/2))))
			}
			if e.Row[j] = v; h%7 == 0 {
				e.Row[j] = math.NaN()
			}
		}
		ex = append(ex, e)
	}
	return modeltest.Evidence(s, l, ex)
}

// TestScannedNeighbours: package scan changes no neighbour, no tie, no vote and no input, for any records, any
// measure and any number of prototypes and neighbours.
func TestScannedNeighbours(t *testing.T) {
	number, level := model.Continuous, model.Nominal
	mixed := []model.Kind{number, level, number, number, level, number, number}
	for name, c := range map[string]struct {
		kinds   []model.Kind
		values  int
		options Options
		scans   bool
	}{
		"mixed":               {mixed, 0, Options{}, true},
		"ties":                {mixed, 3, Options{}, true},
		"few levels":          {slices.Repeat([]model.Kind{level}, 9), 6, Options{}, true},
		"many levels":         {[]model.Kind{level, level, number, number}, 800, Options{}, true},
		"numbers":             {slices.Repeat([]model.Kind{number}, 17), 0, Options{}, true},
		"one feature":         {[]model.Kind{number}, 0, Options{}, true},
		"one prototype":       {mixed, 0, Options{Prototypes: 1}, true},
		"few prototypes":      {mixed, 0, Options{Prototypes: 60}, true},
		"a group":             {mixed, 9, Options{Prototypes: 128}, true},
		"one neighbour":       {mixed, 0, Options{Neighbours: 1}, true},
		"24 neighbours":       {mixed, 5, Options{Neighbours: 24}, true},
		"25 neighbours":       {mixed, 0, Options{Neighbours: 25}, false},
		"40 features":         {slices.Repeat([]model.Kind{number}, 40), 0, Options{}, true},
		"41 features":         {slices.Repeat([]model.Kind{number}, 41), 0, Options{}, false},
		"numbers of a value":  {[]model.Kind{number, number}, 1, Options{}, false},
		"two values":          {[]model.Kind{number, number, number}, 2, Options{}, true},
		"neighbours are all":  {mixed, 0, Options{Prototypes: 10, Neighbours: 12}, true},
		"as many as are seen": {mixed, 4, Options{Prototypes: 65, Neighbours: 20}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options
			if o.Theta = .2; o.Prototypes == 0 {
				o.Prototypes = 400
			}
			o.Newest = 300
			ev := someRecords(c.kinds, c.values, 700, 11)
			x := fit(t, o, ev.Schema, ev)
			x.structure.weights = make([]int64, len(c.kinds))
			for j := range c.kinds {
				if len(x.structure.prototypes.columns[j].at) > 0 {
					x.structure.weights[j] = []int64{16, 256, 0, 1}[j%4]
				}
			}
			x.structure.prepare()
			x.install(x.structure, x.own)
			x = served(t, x, byScan) // in plain Go where the processor has no AVX2
			if x.structure.prototypes.scanned != c.scans {
				t.Fatalf("package scan is used: %v", !c.scans)
			}
			both(t, ev, x, served(t, x, byPacks))
		})
	}
}

// both compares two components of one model, record by record, while they learn and take back.
func both(t *testing.T, ev *model.Evidence, x, y *Component) {
	t.Helper()
	row := make(model.Row, len(ev.Schema.Features))
	in, want := make([]float64, 4), make([]float64, 4)
	var learnt []model.Example
	for i := range 500 {
		ev.Row(i, row)
		if i%3 == 0 {
			copy(row, strange(row, ev.Schema, i))
		}
		for n, m := range []Measure{{}, {Cap: .1}, {Cap: .8, Close: true}, {Cap: 1.6, Weighted: true}, {Weighted: true},
			{Theta: .2}} {
			if (i+n)%4 != 0 {
				continue
			}
			l := x.structure.prototypes.limits(m)
			skip := i%(len(x.structure.prototypes.class)+1) - 1
			a, b := x.structure.neighbourhood(row, m, &l, skip, x.work), y.structure.neighbourhood(row, m, &l, skip, y.work)
			if !slices.Equal(x.work.near[:a], y.work.near[:b]) {
				t.Fatalf("%+v, record %d: neighbours %v, want %v", m, i, x.work.near[:a], y.work.near[:b])
			}
			if a > 0 && !slices.Equal(slices.Sorted(slices.Values(x.work.ties)), slices.Sorted(slices.Values(y.work.ties))) {
				t.Fatalf("%+v, record %d: ties %v, want %v", m, i, x.work.ties, y.work.ties)
			}
			if !slices.Equal(x.work.votes, y.work.votes) {
				t.Fatalf("%+v, record %d: votes %v, want %v", m, i, x.work.votes, y.work.votes)
			}
		}
		x.Inputs(row, in)
		if y.Inputs(row, want); !slices.Equal(in, want) {
			t.Fatalf("record %d: inputs %v, want %v", i, in, want)
		}
		e := model.Example{Row: slices.Clone(row), Class: ev.Class[i], Weight: 1, Clock: float64(i)}
		if i%5 == 0 {
			e.Clock -= float64(i % 40) // late
		}
		learnt = append(learnt, e)
		x.Learn(&e)
		y.Learn(&e)
		if i%7 == 6 {
			back := learnt[len(learnt)-1-i%6]
			x.Retract(&back)
			y.Retract(&back)
		}
		if i%170 == 169 {
			k := []uint64{x.structure.prototypes.key(0), x.structure.prototypes.key(len(x.structure.prototypes.class) - 1)}
			if len(x.structure.prototypes.class) > 40 && x.Forget(k) != y.Forget(k) {
				t.Fatal("both forget the same prototypes")
			}
		}
	}
	if !slices.Equal(x.AppendState(nil), y.AppendState(nil)) {
		t.Error("the states differ")
	}
}

// TestScannedUnits: a search is right at any unit that the one before has left, and the unit comes to bounds that tell.
func TestScannedUnits(t *testing.T) {
	ev := someRecords(slices.Repeat([]model.Kind{model.Continuous}, 12), 0, 900, 5)
	x := fit(t, Options{Theta: 0, Prototypes: 800}, ev.Schema, ev)
	x, y := served(t, x, byScan), served(t, x, byPacks)
	s, row := x.structure, make(model.Row, 12)
	for i := range 200 {
		ev.Row(i, row)
		x.work.search.unit = math.Exp2(float64(i%90) - 20)
		n := s.neighbourhood(row, s.measure, &s.limits, -1, x.work)
		m := y.structure.neighbourhood(row, s.measure, &s.limits, -1, y.work)
		if !slices.Equal(x.work.near[:n], y.work.near[:m]) {
			t.Fatalf("record %d: neighbours %v, want %v", i, x.work.near[:n], y.work.near[:m])
		}
	}
	few := 0
	for i := range 200 {
		ev.Row(i, row)
		s.neighbourhood(row, s.measure, &s.limits, -1, x.work)
		if len(x.work.search.list) < 200 {
			few++
		}
	}
	if few < 190 {
		t.Errorf("%d of 200 searches measured less than a quarter of the prototypes", few)
	}
}

// TestWildPlaces: a state with places that no record has is compared without package scan.
func TestWildPlaces(t *testing.T) {
	x, _, _ := fitted(t, Options{Theta: .2, Prototypes: 100}, 300)
	if x = served(t, x, byScan); !x.structure.prototypes.scanned {
		t.Fatal("package scan is not used")
	}
	for j := range x.structure.prototypes.columns {
		c := &x.structure.prototypes.columns[j]
		if len(c.at) == 0 {
			continue
		}
		was := c.at[3]
		wild := []float64{math.MaxInt32, math.MinInt32 + 1}
		if c.nominal {
			wild = append(wild, 5, levelStep-1) // nearer to other levels than the bounds have it
		}
		for _, v := range wild {
			c.at[3] = v
			if x.structure.prepare(); x.structure.prototypes.scanned {
				t.Errorf("feature %d with place %v: package scan is used", j, v)
			}
		}
		c.at[3] = was
	}
}

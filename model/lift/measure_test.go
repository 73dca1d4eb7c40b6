package lift

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// golden holds the paper's printed count tables with the measures that an independent program computed from them.
type golden struct {
	Counts   [][]float64 `json:"counts"`
	Eta      float64     `json:"eta"`
	EtaCells []float64   `json:"eta_cells"`
	Lift     [][]float64 `json:"lift"`
}

func loadGolden(t *testing.T) map[string]golden {
	t.Helper()
	b, err := os.ReadFile("testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var g map[string]golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g golden) flat() []float64 {
	var n []float64
	for _, r := range g.Counts {
		n = append(n, r...)
	}
	return n
}

func TestPaperTables(t *testing.T) {
	for name, g := range loadGolden(t) {
		s := Summarise(g.flat(), len(g.Counts[0]), 0)
		near(t, name+" eta", s.Eta(), g.Eta, 1e-9)
		all := make([]int, len(g.Counts))
		for x := range g.Counts {
			all[x] = x
			near(t, name+" cell eta", s.CellEta(x), g.EtaCells[x], 1e-9)
			sum := 0.0
			for y := range g.Counts[x] {
				near(t, name+" lift", s.Lift(x, y), g.Lift[x][y], 1e-9)
				low, high := s.LiftInterval(x, y)
				if l := s.Lift(x, y); !(low <= l && l <= high) || low < 0 || high > s.N/s.NY[y]+1e-9 {
					t.Errorf("%s: lift %v of cell %d class %d outside its interval [%v, %v]", name, l, x, y, low, high)
				}
				sum += s.NY[y] / s.N * s.Lift(x, y)
			}
			near(t, name+" sum_y h L", sum, 1, 1e-12)
		}
		for y := 0; y < s.Classes; y++ {
			sum := 0.0
			for x := range g.Counts {
				sum += s.NX[x] / s.N * s.Lift(x, y)
			}
			near(t, name+" sum_x g L", sum, 1, 1e-12)
		}
		near(t, name+" window of all cells", s.WindowEta(all), s.Eta(), 1e-15)
	}
}

func TestMeasuresAreInvariantToScale(t *testing.T) {
	g := loadGolden(t)["T1"]
	n := g.flat()
	a := Summarise(n, 3, 0)
	scaled := make([]float64, len(n))
	for i := range n {
		scaled[i] = n[i] * 1e-40
	}
	b := Summarise(scaled, 3, a.N)
	near(t, "eta", b.Eta(), a.Eta(), 1e-13)
	near(t, "corrected eta", b.EtaCorrected(), a.EtaCorrected(), 1e-13)
	low, high := a.LiftInterval(0, 1)
	low2, high2 := b.LiftInterval(0, 1)
	near(t, "low", low2, low, 1e-12)
	near(t, "high", high2, high, 1e-12)
}

func TestEtaCorrectedTakesTheBiasAway(t *testing.T) {
	// I - (K_x-1)(K_y-1)/(2n) over H, computed here from the definition.
	n := []float64{30, 10, 12, 28, 0, 0, 9, 11}
	s := Summarise(n, 2, 0)
	var mi, hy float64
	for x := 0; x < 4; x++ {
		for y := 0; y < 2; y++ {
			if f := n[2*x+y] / 100; f > 0 {
				mi += f * math.Log(f/(s.NX[x]/100*s.NY[y]/100))
			}
		}
	}
	for _, v := range s.NY {
		hy -= v / 100 * math.Log(v/100)
	}
	near(t, "corrected", s.EtaCorrected(), (mi-2.0*1/200)/hy, 1e-12)
	if e := Summarise([]float64{10, 10, 10, 10}, 2, 0).EtaCorrected(); e != 0 {
		t.Errorf("corrected eta of independent counts %v, want 0", e)
	}
}

// TestTheBiasCountsOccupiedCellsAndSeenClasses alone: cells and classes that no record has change nothing.
func TestTheBiasCountsOccupiedCellsAndSeenClasses(t *testing.T) {
	want := Summarise([]float64{30, 10, 12, 28}, 2, 0)
	if want.EtaCorrected() >= want.Eta() {
		t.Fatalf("corrected %v, of %v", want.EtaCorrected(), want.Eta())
	}
	for name, s := range map[string]*Summary{
		"a class": Summarise([]float64{30, 10, 0, 12, 28, 0}, 3, 0),
		"a cell":  Summarise([]float64{30, 10, 0, 0, 12, 28}, 2, 0),
		"both":    Summarise([]float64{0, 30, 10, 0, 0, 0, 0, 12, 28}, 3, 0),
	} {
		near(t, name+": eta", s.Eta(), want.Eta(), 1e-13)
		near(t, name+": corrected eta", s.EtaCorrected(), want.EtaCorrected(), 1e-13)
	}
	window := Summarise([]float64{30, 10, 0, 12, 28, 0}, 3, 0).WindowEtaCorrected([]int{1})
	near(t, "corrected eta of a window", window, want.WindowEtaCorrected([]int{1}), 1e-13)
}

func TestUndefinedUntilTwoClasses(t *testing.T) {
	for _, n := range [][]float64{nil, {0, 0}, {5, 0, 7, 0}} {
		s := Summarise(n, 2, 0)
		near(t, "eta", s.Eta(), math.NaN(), 0)
		near(t, "corrected", s.EtaCorrected(), math.NaN(), 0)
		if len(n) > 0 {
			near(t, "cell", s.CellEta(0), math.NaN(), 0)
			near(t, "lift", s.Lift(0, 0), math.NaN(), 0)
		}
	}
	// A class that was never seen among three leaves the others defined.
	s := Summarise([]float64{5, 0, 1, 0, 0, 0, 1, 0, 5}, 3, 0)
	near(t, "lift of the unseen class", s.Lift(0, 1), math.NaN(), 0)
	near(t, "lift of an empty cell", s.Lift(1, 0), math.NaN(), 0)
	low, high := s.LiftInterval(1, 0)
	near(t, "low of an empty cell", low, 0, 0)
	near(t, "high of an empty cell", high, 2, 1e-12)
}

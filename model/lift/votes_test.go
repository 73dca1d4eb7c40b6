package lift

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"liftstream/model"
)

var voteNames = strings.Split("HI WP AB PF SA RG ST AN MM IM SC ES SR CR DF EA", " ")

// votes reads the voting records: 16 features y or n, classes democrat and republican.
func votes(t testing.TB) (*model.Schema, *model.Evidence) {
	t.Helper()
	f, err := os.Open("testdata/house_votes84.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	s := &model.Schema{Classes: []string{"democrat", "republican"}, Positive: -1}
	for _, n := range voteNames {
		s.Features = append(s.Features, model.Feature{Name: n, Kind: model.Nominal})
	}
	return s, evidenceOf(s, rows[1:])
}

// evidenceOf codes rows of texts, the class last.
func evidenceOf(s *model.Schema, rows [][]string) *model.Evidence {
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, len(s.Features))}
	for i, r := range rows {
		for f := range s.Features {
			v := math.NaN()
			switch {
			case r[f] == "":
			case s.Features[f].Kind == model.Continuous:
				v = parse(r[f])
			default:
				v = float64(ev.Levels.Code(f, r[f]))
			}
			ev.Columns[f] = append(ev.Columns[f], v)
		}
		ev.Class = append(ev.Class, int32(s.Class(r[len(s.Features)])))
		ev.Weight = append(ev.Weight, 1)
		ev.Clock = append(ev.Clock, float64(i))
		ev.Time = append(ev.Time, int64(i))
		ev.Partition = append(ev.Partition, 0)
	}
	return ev
}

func parse(s string) float64 {
	var v float64
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		panic(err)
	}
	return v
}

func fitPart(t testing.TB, o Options, ev *model.Evidence, previous []byte) (*Part, []byte) {
	t.Helper()
	b, err := New(o, ev.Schema).Fit(context.Background(), ev, previous)
	if err != nil {
		t.Fatal(err)
	}
	p, err := DecodePart(ev.Schema, b)
	if err != nil {
		t.Fatal(err)
	}
	return p, b
}

// TestVotesPairTables compares every single and pair with counts made here from the texts, record by record.
func TestVotesPairTables(t *testing.T) {
	_, ev := votes(t)
	p, _ := fitPart(t, Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 2, Top: 200}}, ev, nil)
	if len(p.Sets) != 16+120 || p.Exhausted != 2 {
		t.Fatalf("%d sets, exhausted to %d", len(p.Sets), p.Exhausted)
	}
	last := math.Inf(1)
	for i := range p.Sets {
		set := p.Sets[i].Set
		want := map[string][2]float64{}
		var n, ny [3]float64
		for r := range ev.Class {
			label := ""
			for _, f := range set.features {
				if v := ev.Columns[f][r]; math.IsNaN(v) {
					label = "missing"
					break
				} else {
					label += " & " + ev.Levels.Names(int(f))[int(v)]
				}
			}
			if label == "missing" {
				continue
			}
			c := want[label[3:]]
			c[ev.Class[r]]++
			want[label[3:]] = c
			ny[ev.Class[r]]++
			n[0]++
		}
		table := p.Sets[i].Total(2)
		m := Summarise(table.Counts(), 2, table.Effective())
		occupied := 0
		var mi, h float64
		for x := range m.NX {
			if m.NX[x] == 0 {
				continue
			}
			occupied++
			c, ok := want[set.Label(ev.Levels, x)]
			if !ok || c[0] != m.Count[2*x] || c[1] != m.Count[2*x+1] {
				t.Fatalf("set %v cell %q: %v, want %v", set.features, set.Label(ev.Levels, x), m.Count[2*x:2*x+2], c)
			}
			for y, v := range c {
				if v > 0 {
					mi += v / n[0] * math.Log(v*n[0]/((c[0]+c[1])*ny[y]))
				}
			}
		}
		if occupied != len(want) || m.N != n[0] {
			t.Fatalf("set %v: %d cells of %v records, want %d of %v", set.features, occupied, m.N, len(want), n[0])
		}
		for _, v := range ny[:2] {
			h -= v / n[0] * math.Log(v/n[0])
		}
		near(t, "eta", m.Eta(), mi/h, 1e-9)
		if m.Eta() > last+1e-12 {
			t.Errorf("set %d of eta %v after one of %v", i, m.Eta(), last)
		}
		last = m.Eta()
	}
}

type row5 struct {
	Party    string
	Features string
	Profile  string
	N        float64 `json:"n"`
	NX       float64 `json:"n_x"`
	NXY      float64 `json:"n_xy"`
	NY       float64 `json:"n_y"`
	Lift     float64 `json:"lift"`
}

func table5(t *testing.T) []row5 {
	t.Helper()
	b, err := os.ReadFile("testdata/table5.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row5
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestTable5Tallies counts the 27 profiles of Table 5, of up to nine features, on their complete cases.
func TestTable5Tallies(t *testing.T) {
	s, ev := votes(t)
	rows := table5(t)
	if len(rows) != 27 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, want := range rows {
		x := &mined{class: int32(s.Class(want.Party))}
		var features []int32
		for j, name := range strings.Split(want.Features, ",") {
			f := int32(s.Feature(name))
			features = append(features, f)
			code := ev.Levels.Code(int(f), strings.Split(want.Profile, ",")[j])
			x.position, x.item = append(x.position, f), append(x.item, int32(code))
		}
		// The same figures by the set's own table.
		set := newSet(s, features, Mahalanobis, nil)
		table := NewTable(2)
		row := make(model.Row, 16)
		cell := -1
		for r := range ev.Class {
			ev.Row(r, row)
			c := set.Cell(row)
			if c < 0 {
				continue
			}
			table.add(c, int(ev.Class[r]), 1, 1)
			met := true
			for k, f := range features {
				met = met && row[f] == float64(x.item[k])
			}
			if met {
				cell = c
			}
		}
		m := Summarise(table.Counts(), 2, 0)
		if m.N != want.N || m.NX[cell] != want.NX || m.Count[2*cell+int(x.class)] != want.NXY || m.NY[x.class] != want.NY {
			t.Errorf("row %d: n %v n_x %v n_xy %v n_y %v, want %+v",
				i, m.N, m.NX[cell], m.Count[2*cell+int(x.class)], m.NY[x.class], want)
		}
		near(t, "lift", m.Lift(cell, int(x.class)), want.Lift, 1e-9)
		mn := newMiner(newSample(ev), ev.Len(), ev.Levels, nil, &ProfileOptions{Top: 1})
		p := mn.profile(x, ev.Levels)
		if p.Tally.N != want.N || p.Tally.NX != want.NX || p.Tally.NXY != want.NXY || p.Tally.NY != want.NY {
			t.Errorf("row %d: %+v, want %+v", i, p.Tally, want)
		}
		near(t, "lift of the profile", p.Tally.Lift(), want.Lift, 1e-9)
		near(t, "lift over all", p.LiftAll, want.NXY/want.NX*435/[]float64{267, 168}[x.class], 1e-9)
	}
}

// TestTable5IsTheTop searches all 43 million profiles of the voting records: those of Table 5 are exactly the best 11
// and the best 16 of more than .15 of their complete cases, of which there are 33,779.
func TestTable5IsTheTop(t *testing.T) {
	s, ev := votes(t)
	o := Options{Profiles: ProfileOptions{Top: 16, MinSupport: .15, MaxFeatures: 16, KeepRedundant: true}}
	for support, want := range map[float64]int{.15: 33779, .15 * (1 - 1e-9): 33779 + 129} {
		o.Profiles.MinSupport = support
		if n, err := CountProfiles(context.Background(), ev, o); err != nil || n != want {
			t.Errorf("%d profiles of more than %v, want %d; %v", n, support, want, err)
		}
	}
	o.Profiles.MinSupport = .15
	m := minerOf(ev, &o)
	if err := m.run(context.Background(), 16); err != nil {
		t.Fatal(err)
	}
	for y, party := range s.Classes {
		var want, got []string
		for _, r := range table5(t) {
			if r.Party == party {
				want = append(want, r.Features+"="+r.Profile)
			}
		}
		for i, x := range m.best[y][:len(want)] {
			var names, values []string
			for j, p := range x.position {
				names = append(names, voteNames[p])
				values = append(values, ev.Levels.Names(int(p))[x.item[j]])
			}
			got = append(got, strings.Join(names, ",")+"="+strings.Join(values, ","))
			if i > 0 && compareMined(m.best[y][i-1], x) > 0 {
				t.Errorf("%s: rank %d is out of order", party, i)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: best %d are %q, want %q", party, len(want), got, want)
		}
	}
}

package lift

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// covtype reads the ten numbers and the class of every record.
func covtype(t testing.TB) *model.Evidence {
	t.Helper()
	f, err := os.Open(modeltest.Shared(t, "data/covtype10.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(bufio.NewReaderSize(z, 1<<20))
	in.Scan()
	s := &model.Schema{Classes: []string{"1", "2", "3", "4", "5", "6", "7"}, Positive: -1}
	for _, n := range strings.Split(in.Text(), ",")[:10] {
		s.Features = append(s.Features, model.Feature{Name: n})
	}
	ev := &model.Evidence{Schema: s, Levels: model.NewLevels(s), Columns: make([][]float64, 10)}
	for in.Scan() {
		rest := in.Text()
		for f := 0; f <= 10; f++ {
			text, after, _ := strings.Cut(rest, ",")
			rest = after
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			if f < 10 {
				ev.Columns[f] = append(ev.Columns[f], v)
				continue
			}
			ev.Class = append(ev.Class, int32(v)-1)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	ev.Weight, ev.Partition = make([]float64, ev.Len()), make([]int32, ev.Len())
	ev.Clock, ev.Time = make([]float64, ev.Len()), make([]int64, ev.Len())
	for i := range ev.Weight {
		ev.Weight[i], ev.Clock[i] = 1, float64(i)
	}
	return ev
}

// TestCovtype computes Table 7 from the records, count for count, and the rows of Tables 8 and 9 on its sets.
func TestCovtype(t *testing.T) {
	ev := covtype(t)
	o := Options{Quantiles: 5}
	s := newSetSearch(newSample(ev), &o, nil)
	const e, hh, hf = 0, 3, 9

	f, m := s.evaluate([]int32{e, hh, hf})
	g := loadGolden(t)["T7"]
	if !slices.Equal(m.Count, g.flat()) {
		t.Errorf("counts of Table 7 are %v", m.Count)
	}
	near(t, "eta of (E,HH,HF)", f.eta, g.Eta, 1e-9)
	near(t, "Table 8, Q5", m.CellEta(4), .381326, 5e-7)
	near(t, "Table 8, Q1 and Q5", m.WindowEta([]int{0, 4}), .360627, 5e-7)
	near(t, "Table 9, class 1", m.Lift(4, 0), 1.868334, 5e-7)
	near(t, "Table 9, class 4", m.Lift(0, 3), 4.999974, 5e-7)
	near(t, "Table 9, class 6", m.Lift(0, 5), 4.897194, 5e-7)

	f, m = s.evaluate([]int32{e, hh})
	near(t, "eta of (E,HH)", f.eta, .307006, 5e-7)
	near(t, "Table 8, (E,HH) Q5", m.CellEta(4), .373820, 5e-7)
	near(t, "Table 8, (E,HH) Q1 and Q5", m.WindowEta([]int{0, 4}), .356610, 5e-7)
	near(t, "Table 9, class 7", m.Lift(4, 6), 4.886615, 5e-7)

	// A single feature is cut at its own quantiles.
	_, m = s.evaluate([]int32{e})
	for x, n := range m.NX {
		near(t, "cell of a fifth", n/m.N, .2, .005)
		_ = x
	}
}

// table reads a data file with the class in the last column and the given classes.
func table(t testing.TB, name string, classes []string) *model.Evidence {
	t.Helper()
	rows := modeltest.CSV(t, modeltest.Shared(t, name))
	s := &model.Schema{Classes: classes, Positive: 1}
	last := len(rows[0]) - 1
	for i, n := range rows[0][:last] {
		k := model.Nominal
		if _, err := strconv.ParseFloat(rows[1][i], 64); err == nil {
			k = model.Continuous
		}
		s.Features = append(s.Features, model.Feature{Name: n, Kind: k})
	}
	return evidenceOf(s, rows[1:])
}

// bank reads the bank marketing records: seven numbers, nine features with levels.
func bank(t testing.TB) *model.Evidence {
	return table(t, "data/bank_full.csv.gz", []string{"no", "yes"})
}

// oracle is the best profiles that another program found by plain enumeration.
type oracle struct {
	N           int
	NY          float64 `json:"n_y"`
	Y           string
	Categorical []string `json:"columns_categorical"`
	Numeric     []string `json:"columns_numeric"`
	Top100      map[string]struct {
		Variant  string
		Minsup   float64
		Profiles []struct {
			Features, Levels []string
			Lift             float64
			NX               float64 `json:"n_x"`
			NXY              float64 `json:"n_xy"`
			N                float64
			NY               float64 `json:"n_y"`
		}
	}
}

// oracles are the lists, each with its data file.
var oracles = [][2]string{
	{"house_votes84", "data/house_votes84.csv"},
	{"bank_full", "data/bank_full.csv.gz"},
	{"bank_full_mixed", "data/bank_full.csv.gz"},
	{"adult_train", "data/adult_train.csv.gz"},
	{"adult_train_mixed", "data/adult_train.csv.gz"},
	{"covtype10", ""},
}

// readOracle returns a list with its records: the features that it searched, and the class asked for as class 1 of two.
func readOracle(t testing.TB, name, data string) (*oracle, *model.Evidence) {
	t.Helper()
	f, err := os.Open(modeltest.Shared(t, "oracles/profiles_"+name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := json.NewDecoder(z).Decode(&o); err != nil {
		t.Fatal(err)
	}
	var ev *model.Evidence
	if data == "" {
		ev = covtype(t)
		of := int32(ev.Schema.Class(o.Y))
		for i, y := range ev.Class {
			ev.Class[i] = 0
			if y == of {
				ev.Class[i] = 1
			}
		}
		ev.Schema.Classes = []string{"other", o.Y}
	} else {
		ev = table(t, data, []string{"other", o.Y})
		for i, y := range ev.Class {
			ev.Class[i] = max(y, 0)
		}
	}
	if ev.Len() != o.N {
		t.Fatalf("%d records, the oracle has %d", ev.Len(), o.N)
	}
	for i := range ev.Schema.Features {
		x := &ev.Schema.Features[i]
		if !slices.Contains(o.Categorical, x.Name) && !slices.Contains(o.Numeric, x.Name) {
			x.Use = model.UseReport
		}
	}
	return &o, ev
}

// TestProfilesAgainstOracles compares the best 100 profiles of up to three features, missing values set by set.
func TestProfilesAgainstOracles(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	for _, c := range oracles {
		t.Run(c[0], func(t *testing.T) {
			oracle, ev := readOracle(t, c[0], c[1])
			s := newSample(ev)
			search := newSetSearch(s, &Options{Quantiles: 4}, nil)
			checked := 0
			for key, want := range oracle.Top100 {
				if want.Variant != "cc" {
					continue
				}
				checked++
				// The oracle's support is not strict.
				o := &ProfileOptions{Top: 100, MinSupport: want.Minsup * (1 - 1e-9), Of: []int32{1}, KeepRedundant: true}
				m := newMiner(s, s.n, ev.Levels, func(f int32) *Set { return search.define([]int32{f}) }, o)
				if err := m.run(context.Background(), 3); err != nil {
					t.Fatal(err)
				}
				if len(m.best[1]) != len(want.Profiles) {
					t.Fatalf("%s: %d profiles, want %d", key, len(m.best[1]), len(want.Profiles))
				}
				found := map[string]*Profile{}
				for _, x := range m.best[1] {
					p := m.profile(x, ev.Levels)
					found[p.Text] = p
				}
				last := want.Profiles[len(want.Profiles)-1].Lift
				for i, w := range want.Profiles {
					near(t, key+" lift by rank", m.best[1][i].lift, w.Lift, 1e-12)
					if w.Lift <= last*(1+1e-12) {
						continue // ties at the end of the list are cut by another rule
					}
					var items []Item
					for j, name := range w.Features {
						f := ev.Schema.Feature(name)
						it := Item{Feature: int32(f), Level: -1}
						if ev.Schema.Features[f].Kind != model.Continuous {
							it.Level = int32(ev.Levels.Code(f, w.Levels[j]))
						} else {
							low, high, _ := strings.Cut(strings.Trim(w.Levels[j], "(])"), ",")
							it.Low, _ = strconv.ParseFloat(low, 64)
							it.High, _ = strconv.ParseFloat(high, 64)
						}
						items = append(items, it)
					}
					slices.SortFunc(items, func(a, b Item) int { return int(a.Feature - b.Feature) })
					var text []string
					for j := range items {
						text = append(text, items[j].text(ev.Schema, ev.Levels))
					}
					p := found[strings.Join(text, " & ")]
					if p == nil {
						t.Fatalf("%s: rank %d, %v, was not found", key, i, text)
					}
					if a := p.Tally; a.NX != w.NX || a.NXY != w.NXY || a.N != w.N || a.NY != w.NY {
						t.Errorf("%s: %v: %+v, want %+v", key, text, a, w)
					}
				}
			}
			if checked == 0 {
				t.Error("the oracle has no list on complete cases")
			}
		})
	}
}

// BenchmarkProfiles is the search for the best 100 profiles of up to three features on cells that are there already: of
// more than .005 of the complete cases, and of more than .05, together, as deploy/bench/profiles.py does.
func BenchmarkProfiles(b *testing.B) {
	for _, c := range oracles {
		b.Run(c[0], func(b *testing.B) {
			_, ev := readOracle(b, c[0], c[1])
			s := newSample(ev)
			search := newSetSearch(s, &Options{Quantiles: 4}, nil)
			for _, support := range []float64{.005, .05} {
				o := &ProfileOptions{Top: 100, MinSupport: support, Of: []int32{1}, KeepRedundant: true}
				prepared := newMiner(s, s.n, ev.Levels, func(f int32) *Set { return search.define([]int32{f}) }, o)
				b.Run(strconv.FormatFloat(support, 'g', -1, 64), func(b *testing.B) {
					reportCPU(b, func() {
						m := *prepared
						m.best = make([][]*mined, s.classes)
						if err := m.run(context.Background(), 3); err != nil {
							b.Fatal(err)
						}
					})
				})
			}
		})
	}
}

func bankOptions() Options {
	return Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 2, Top: 20}, Windows: WindowOptions{Top: 10},
		Profiles: ProfileOptions{Top: 20, MinSupport: .005, MaxFeatures: 2, Of: []int32{1}, Validate: .2}}
}

// TestBankProfiles: figures that a spreadsheet gives, and the profile that a record meets.
func TestBankProfiles(t *testing.T) {
	ev := bank(t)
	p, b := fitPart(t, bankOptions(), ev, nil)
	c := New(bankOptions(), ev.Schema).New(ev.Levels).(*Component)
	if err := c.Rebase(&model.Rebase{Part: b, Since: func(func(*model.Example) bool) {}}); err != nil {
		t.Fatal(err)
	}
	poutcome := int32(ev.Schema.Feature("poutcome"))
	x := &mined{class: 1, position: []int32{poutcome}, item: []int32{int32(ev.Levels.Code(int(poutcome), "success"))}}
	success := newMiner(newSample(ev), ev.Len(), ev.Levels, func(f int32) *Set {
		return newSetSearch(newSample(ev), &Options{Quantiles: 5}, nil).define([]int32{f})
	}, &ProfileOptions{Top: 1}).profile(x, ev.Levels)
	if a := success.Tally; a.N != 45211 || a.NX != 1511 || a.NXY != 978 || a.NY != 5289 {
		t.Errorf("poutcome=success: %+v", a)
	}
	if len(p.Profiles) != 20 {
		t.Fatalf("%d profiles", len(p.Profiles))
	}
	row := make(model.Row, 16)
	matched := 0
	for i := range ev.Class {
		ev.Row(i, row)
		text, lift := c.Profile(row, 1)
		var want *Profile
		for _, f := range p.Profiles {
			if f.Confirmed() && f.meets(row) {
				want = f
				break
			}
		}
		if want == nil != (text == "") || want != nil && (text != want.Text || lift != want.Validation.Lift()) {
			t.Fatalf("record %d: %q of lift %v", i, text, lift)
		}
		if text != "" {
			matched++
		}
	}
	if matched == 0 {
		t.Error("no record meets a profile")
	}
	if n := testing.AllocsPerRun(100, func() { c.Profile(row, 1) }); n != 0 {
		t.Errorf("Profile allocates %v times", n)
	}
}

// defaults are the options of a configuration that says nothing of lift.
func defaults(o Options) Options {
	o.Sets.Rank, o.Windows.MinMass, o.Windows.Fold, o.Profiles.Rank = ByLeaveOneOut, .15, true, ByLower
	return o
}

// BenchmarkFitBank is Fit with the paper's rankings and with those of the defaults.
func BenchmarkFitBank(b *testing.B) {
	ev := bank(b)
	for _, size := range []int{2, 3} {
		o := bankOptions()
		o.Sets.Max, o.Profiles.MaxFeatures = size, size
		for name, o := range map[string]Options{"paper": o, "defaults": defaults(o)} {
			f := New(o, ev.Schema)
			b.Run(strconv.Itoa(size)+"features/"+name, func(b *testing.B) {
				reportCPU(b, func() {
					if _, err := f.Fit(context.Background(), ev, nil); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}

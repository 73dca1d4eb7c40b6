package lift

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
)

// shared returns the path of a data file that is not shipped.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("LIFTSTREAM_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	path := filepath.Join(dir, "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: %s is missing; set LIFTSTREAM_SHARED to the folder that holds data/%s", name, name)
	}
	return path
}

// covtype reads the ten numbers and the class of every record.
func covtype(t testing.TB) *model.Evidence {
	t.Helper()
	f, err := os.Open(shared(t, "covtype10.csv.gz"))
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

// bank reads the bank marketing records: seven numbers, nine features with levels.
func bank(t testing.TB) *model.Evidence {
	t.Helper()
	f, err := os.Open(shared(t, "bank_full.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	s := &model.Schema{Classes: []string{"no", "yes"}, Positive: 1}
	for i, n := range rows[0][:16] {
		k := model.Nominal
		if _, err := strconv.ParseFloat(rows[1][i], 64); err == nil {
			k = model.Continuous
		}
		s.Features = append(s.Features, model.Feature{Name: n, Kind: k})
	}
	return evidenceOf(s, rows[1:])
}

func bankOptions() Options {
	return Options{Quantiles: 5, Sets: SetOptions{Min: 1, Max: 2, Top: 20}, Windows: WindowOptions{Top: 10},
		Profiles: ProfileOptions{Top: 20, MinSupport: .005, MaxFeatures: 2, Of: []int32{1}}}
}

// TestBankProfiles: figures that a spreadsheet gives, and what Profile says of a record.
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
			if f.meets(row) {
				want = f
				break
			}
		}
		if want == nil != (text == "") || want != nil && (text != want.Text || lift != want.Tally.Lift()) {
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

func BenchmarkFitBank(b *testing.B) {
	ev := bank(b)
	for _, size := range []int{2, 3} {
		o := bankOptions()
		o.Sets.Max, o.Profiles.MaxFeatures = size, size
		f := New(o, ev.Schema)
		b.Run(strconv.Itoa(size)+"features", func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Fit(context.Background(), ev, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

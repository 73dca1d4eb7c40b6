package assemble

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/codec/file"
	"liftstream/model"
)

// deriving is a configuration of derived features of each function.
const deriving = `
name: shop
record:
  id: who
  time: {column: at, unit: s}
  label: {column: class, classes: ["no", "yes"], positive: "yes"}
  features:
    - {name: opened, kind: nominal, use: never}
    - {name: born, kind: nominal, use: never, nullable: column}
    - {name: spent, kind: continuous, special: [-999]}
    - {name: income, kind: continuous, use: never}
    - {name: job, kind: nominal}
derive:
  hour: hour(at, zone=Europe/Berlin)
  weekday: weekday(time, zone=Europe/Berlin)
  day: day(time)
  month: month(at)
  years: age(born, w)
  days: age(opened, d)
  share: ratio(spent, income)
  size: log(spent)
  deep: log(ratio(income, share))
  stage: bucket(spent, 0, 10, 100)
  late: bucket(hour, 6, 20)
output: {features: all}
local: off
kernel: off
trees: off
`

// read returns the records of a CSV file: as values, by the number of the row, one text for each feature.
func read(t *testing.T, s *Stage, text string) (rows [][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := file.Open([]string{path}, file.Options{Codec: s.Codec, Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		var b model.Batch
		if err := r.Next(&b, nil); errors.Is(err, io.EOF) {
			return rows
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, values(&b)...)
	}
}

// values writes the records of a batch, numbers with all their bits.
func values(b *model.Batch) (rows [][]string) {
	for i := range b.N {
		var row []string
		for f := range b.Columns {
			switch c := &b.Columns[f]; {
			case c.Float != nil && math.IsNaN(c.Float[i]), c.Float == nil && c.Code[i] == model.MissingCode:
				row = append(row, "-")
			case c.Float != nil:
				row = append(row, string(model.AppendNumber(nil, c.Float[i], 64)))
			default:
				row = append(row, c.Levels[c.Code[i]])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// messages returns the records of the same file sent as messages of a few rows, and the features that their scores hand
// on.
func messages(t *testing.T, s *Stage, text string) (rows, handed [][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := file.OpenTables([]string{path}, file.TableOptions{Missing: s.Codec.Missing})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	table, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	d, err := codec.NewDecoder(s.Codec)
	if err != nil {
		t.Fatal(err)
	}
	p := model.NewPartition(s.Spec, 0)
	enc, err := codec.NewScoreEncoder(s.Codec)
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	for from := 0; from < table.Rows(); from += 2 {
		var part []int
		for i := from; i < min(from+2, table.Rows()); i++ {
			part = append(part, i)
		}
		value, err := codec.NewEventEncoder().Encode(nil, table, part)
		if err != nil {
			t.Fatal(err)
		}
		var c codec.Carry
		bad, err := d.Decode(&codec.Message{Value: value, Offset: int64(from)}, &b, &c)
		if err != nil || len(bad) > 0 {
			t.Fatal(bad, err)
		}
		p.Recency.Fill(&b)
		rows = append(rows, values(&b)...)
		var scores model.Scores
		p.Events(&b, &scores)
		out, err := enc.Table(&b, &scores, p.Levels(), &c)
		if err != nil {
			t.Fatal(err)
		}
		for i := range out.Rows() {
			var row []string
			for _, f := range s.Spec.Schema.Features {
				v, ok := out.Text(out.Column(f.Name), i)
				if !ok {
					v = "-"
				}
				row = append(row, v)
			}
			handed = append(handed, row)
		}
		d.Release()
	}
	return rows, handed
}

// TestDerivedFeatures: each function on a few records by hand, with missing arguments; live scores have the same values
// as files, hand them on, and the order of columns does not matter.
func TestDerivedFeatures(t *testing.T) {
	s := stage(t, deriving)
	const head = "who,at,class,opened,born,spent,income,job\n"
	lines := []string{
		// Sunday 29 March 2026, 01:30 UTC: 03:30 in Berlin, where the clock has just moved on.
		"a,1774747800,no,2026-03-01T01:30:00Z,2006-03-19,20,40,x",
		// Thursday 29 February 2024, 23:30 UTC: Friday in Berlin.
		"b,1709249400,no,2024-02-29 23:30:00,,-999,40,x",
		"c,1709249400,yes,,2024-03-01,0,0,y",
		"d,1709249400,yes,2024-02-28,2024-02-29,-5,2,",
	}
	want := [][]string{ // spent, job, then the derived ones by name
		{"20", "x", "29", "28", "4.382026634673881", "3", "up to 6", "March", "0.5", "2.995732273553991", "(10, 100]",
			"Sunday", "1045.008928571428"},
		{"-999", "x", "29", "0", "-", "0", "up to 6", "February", "-", "-", "-", "Friday", "-"},
		{"0", "y", "29", "-", "-", "0", "up to 6", "February", "-", "-", "up to 0", "Friday", "-0.002976190476190476"},
		{"-5", "-", "29", "1.979166666666667", "-", "0", "up to 6", "February", "-2.5", "-", "up to 0", "Friday",
			"0.13988095238095238"},
	}
	got := read(t, s, head+strings.Join(lines, "\n")+"\n")
	for i := range want {
		for k := range want[i] {
			x, y := got[i][k], want[i][k]
			if a, b := parsed(x), parsed(y); x != y && !(math.Abs(a-b) <= 1e-13*math.Abs(b)) {
				t.Errorf("record %d: %s is %s, want %s", i, s.Spec.Schema.Features[k].Name, x, y)
			}
		}
	}
	live, handed := messages(t, s, head+strings.Join(lines, "\n")+"\n")
	if fmt.Sprint(live) != fmt.Sprint(got) {
		t.Errorf("live\n%v\nfrom a file\n%v", live, got)
	}
	for i := range handed {
		for k, v := range handed[i] {
			if v != got[i][k] && !(v == "" && got[i][k] == "-") {
				t.Errorf("record %d hands on %s as %q, want %q", i, s.Spec.Schema.Features[k].Name, v, got[i][k])
			}
		}
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(8)
	var permuted strings.Builder
	for _, line := range append([]string{strings.TrimSpace(head)}, lines...) {
		cells := strings.Split(line, ",")
		for k, c := range order {
			permuted.WriteString(strings.Repeat(",", min(k, 1)) + cells[c])
		}
		permuted.WriteString("\n")
	}
	if again := read(t, s, permuted.String()); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Errorf("with the columns in another order\n%v\nwant\n%v", again, got)
	}
	// A source that may be absent is missing then; another one is named.
	without := strings.NewReplacer(",born", "", ",2006-03-19", "").Replace(head + lines[0] + "\n")
	if rows := read(t, s, without); rows[0][12] != "-" || rows[0][3] != "28" {
		t.Errorf("without the column born: %v", rows)
	}
	path := filepath.Join(t.TempDir(), "b.csv")
	if err := os.WriteFile(path, []byte("who,at,class,born,spent,opened,job\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open([]string{path}, file.Options{Codec: s.Codec}); err == nil ||
		!strings.Contains(err.Error(), `column "income"`) || !strings.Contains(err.Error(), "source of a derived feature") {
		t.Errorf("without the column income: %v", err)
	}
}

func parsed(t string) (v float64) {
	if _, err := fmt.Sscan(t, &v); err != nil {
		return math.NaN()
	}
	return v
}

// TestPartsOfDates holds parts of dates, at the ends of summer times and in leap years, against Python's zoneinfo
// (testdata/dates.py).
func TestPartsOfDates(t *testing.T) {
	data, err := os.ReadFile("testdata/dates.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]any
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	byZone := map[string][][]any{}
	for _, r := range rows {
		byZone[r[0].(string)] = append(byZone[r[0].(string)], r)
	}
	if len(rows) < 200 || len(byZone) < 9 {
		t.Fatalf("%d rows of %d zones", len(rows), len(byZone))
	}
	for zone, rows := range byZone {
		s := stage(t, "name: x\nrecord:\n  label: {column: class, classes: [a, b]}\n  features:\n"+
			"    - {name: at, kind: continuous, use: never}\nderive:\n"+strings.ReplaceAll("  a: hour(at, unit=s, zone=Z)\n"+
			"  b: weekday(at, unit=s, zone=Z)\n  c: day(at, unit=s, zone=Z)\n  d: month(at, unit=s, zone=Z)\n", "Z", zone))
		text := "at,class\n"
		for _, r := range rows {
			text += fmt.Sprintf("%.0f,a\n", r[1])
		}
		for i, got := range read(t, s, text) {
			r := rows[i]
			want := []string{fmt.Sprint(r[2]), time.Weekday(int(r[3].(float64)) % 7).String(), fmt.Sprint(r[4]),
				time.Month(int(r[5].(float64))).String()}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %.0f: %q, want %q", zone, r[1], got, want)
			}
		}
	}
}

// TestAnotherExpressionIsAnotherFeature: a state is carried over without the feature whose expression has changed, and
// messages under the former schema are read by the former expression.
func TestAnotherExpressionIsAnotherFeature(t *testing.T) {
	a, b := stage(t, deriving), stage(t, strings.Replace(deriving, "days: age(opened, d)", "days: age(opened, h)", 1))
	if a.Spec.Options.Fingerprint == b.Spec.Options.Fingerprint || a.Spec.Options.Frame != b.Spec.Options.Frame {
		t.Fatal("the fingerprint is the same, or the frame another one")
	}
	change, err := model.Relate(a.Spec.Schema, b.Spec.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for f := range b.Spec.Schema.Features {
		if name := b.Spec.Schema.Features[f].Name; (change.Feature[f] < 0) != (name == "days") {
			t.Errorf("feature %s was %d", name, change.Feature[f])
		}
	}
	_, columns, err := b.Under(a.Spec.Schema, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := columns.Derived["days"]; d.Function != codec.Age || d.Per != 24*time.Hour {
		t.Errorf("under the former schema days is %+v", d)
	}
	hostile := *a.Spec.Schema
	hostile.Features = slices.Clone(hostile.Features)
	hostile.Features[3].Derived = "log("
	if _, _, err := b.Under(&hostile, 1); err == nil {
		t.Error("a schema with half an expression was taken")
	}
}

// TestSpecialCodesOfTheStateAreThoseOfItsDerivedFeatures: a state that was made under other special codes is replayed
// with them; those of a column that is no feature are the configuration's.
func TestSpecialCodesOfTheStateAreThoseOfItsDerivedFeatures(t *testing.T) {
	s := stage(t, deriving)
	old := *s.Spec.Schema
	old.Features = slices.Clone(old.Features)
	old.Features[old.Feature("spent")].Special = []float64{-7}
	s.Config.Record.Features[3].Special = []float64{-8} // income
	_, o, err := s.Under(&old, 1)
	if err != nil {
		t.Fatal(err)
	}
	share := o.Derived["share"].Of
	if !slices.Equal(share[0].Special, []float64{-7}) || !slices.Equal(share[1].Special, []float64{-8}) {
		t.Errorf("%+v", share)
	}
}

package file

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/modeltest"
)

func continuous(names ...string) (f []model.Feature) {
	for _, n := range names {
		f = append(f, model.Feature{Name: n, Kind: model.Continuous})
	}
	return f
}

func nominal(names ...string) (f []model.Feature) {
	for _, n := range names {
		f = append(f, model.Feature{Name: n, Kind: model.Nominal})
	}
	return f
}

func bank() codec.Options {
	return codec.Options{Label: "class", Missing: []string{"", "NA", "?"}, Schema: &model.Schema{
		Classes: []string{"no", "yes"}, Positive: 1,
		Features: append(continuous("age", "balance", "day", "duration", "campaign", "pdays", "previous"),
			nominal("job", "marital", "education", "default", "housing", "loan", "contact", "month", "poutcome")...),
	}}
}

func covtype() codec.Options {
	return codec.Options{Label: "class", Schema: &model.Schema{
		Classes: []string{"1", "2", "3", "4", "5", "6", "7"}, Positive: -1,
		Features: continuous("Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology",
			"Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways", "Hillshade_9am",
			"Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points"),
	}}
}

func count(t testing.TB, paths []string, o codec.Options) int {
	t.Helper()
	r, err := Open(paths, Options{Codec: o, RequireLabel: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	var b model.Batch
	for {
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		n += b.N
	}
}

func BenchmarkBank(b *testing.B) {
	path := modeltest.Shared(b, "data/bank_full.csv.gz")
	for range b.N {
		if n := count(b, []string{path}, bank()); n != 45211 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(45211*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkCovtype(b *testing.B) {
	path := modeltest.Shared(b, "data/covtype10.csv.gz")
	for range b.N {
		if n := count(b, []string{path}, covtype()); n != 581012 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(581012*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkFormats reads the bank's records from every format.
func BenchmarkFormats(b *testing.B) {
	csv := modeltest.Shared(b, "data/bank_full.csv.gz")
	for _, kind := range []string{".csv", ".jsonl", ".arrow", ".parquet"} {
		path := filepath.Join(b.TempDir(), "bank"+kind)
		out, err := Create(path)
		if err != nil {
			b.Fatal(err)
		}
		for t := range tablesOf(b, csv, TableOptions{Codec: bank()}) {
			if err := out.Write(t); err != nil {
				b.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			b.Fatal(err)
		}
		b.Run(kind, func(b *testing.B) {
			for range b.N {
				if n := count(b, []string{path}, bank()); n != 45211 {
					b.Fatal(n)
				}
			}
			b.ReportMetric(45211*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// TestNullableColumn: a file may lack the column of a feature that may be absent; its values are missing then.
func TestNullableColumn(t *testing.T) {
	o := Options{Codec: rowsOptions(), RequireLabel: true}
	o.Codec.Schema.Features = append(continuous("age"), nominal("job")...)
	lacks := write(t, "lacks.csv", "who,job,class\n1,cook,no\n")
	has := write(t, "has.csv", "who,age,job,class\n2,30,cook,yes\n")
	o.Codec.Nullable = map[string]bool{"age": true}
	of := map[string]string{lacks: "0 1 NaN cook", has: "1 2 30 cook"}
	for _, paths := range [][]string{{lacks, has}, {has, lacks}, {lacks}} {
		var want []string
		for _, p := range paths {
			want = append(want, of[p])
		}
		if rows, err := readAll(t, o, paths...); err != nil || !slices.Equal(rows, want) {
			t.Errorf("%q, %v, want %q", rows, err, want)
		}
	}
	o.Codec.Nullable = nil
	if _, err := readAll(t, o, has, lacks); err == nil || !strings.Contains(err.Error(), `"age"`) {
		t.Errorf("a column that may not be absent: %v", err)
	}
}

package file

import (
	"maps"
	"os"
	"slices"
	"testing"

	"liftstream/codec"
	"liftstream/model"
)

// TestTypesThatArrowsLibraryLacks reads decimals of 32 and 64 bits, whole numbers of 128 bits, and files in which such
// columns stand beside those that are read.
func TestTypesThatArrowsLibraryLacks(t *testing.T) {
	id := []string{"a", "b", "c", "d", "e", "f"}
	d32 := []string{"0", "-0.01", "0.01", "", "12345.67", "-99999.99"}
	reversed := slices.Clone(d32)
	slices.Reverse(reversed)
	decimals := map[string][]string{"id": id, "d32": d32, "dict": reversed,
		"d64": {"0", "-1000", "1000", "", "1234567000", "-9999999000"}}
	const most = "170141183460469231731687303715884105727"
	whole := map[string][]string{"id": id, "i128": {"0", "-1", "1", "", most, "-" + most},
		"u128": {"0", "1", "18446744073709551616", "", most, "340282366920938463463374607431768211455"}}
	for name, want := range map[string]map[string][]string{"pyarrow.arrows": decimals, "pyarrow_zstd.arrows": decimals,
		"polars.arrows": whole, "polars.arrow": whole, "polars.parquet": {"id": id}} {
		got, err := columnTexts("testdata/wide/"+name, slices.Collect(maps.Keys(want)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for column := range want {
			if !slices.Equal(got[column], want[column]) {
				t.Errorf("%s: %s is %q, want %q", name, column, got[column], want[column])
			}
		}
	}
}

// TestMessagesOfTypesThatArrowsLibraryLacks: such columns are read, and passed over where they are not asked for; the
// dead letter of a row has all of them and is read again.
func TestMessagesOfTypesThatArrowsLibraryLacks(t *testing.T) {
	for _, c := range []struct {
		file, feature string
		want          []float64 // of the rows but the fourth, which is null
	}{
		{"pyarrow.arrows", "d32", []float64{0, -.01, .01, 12345.67, -99999.99}},
		{"pyarrow_zstd.arrows", "d64", []float64{0, -1000, 1000, 1234567000, -9999999000}},
		{"polars.arrows", "i128", []float64{0, -1, 1, 1 << 127, -1 << 127}},
		{"polars.arrows", "u128", []float64{0, 1, 1 << 64, 1 << 127, 1 << 128}},
	} {
		value, err := os.ReadFile("testdata/wide/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := codec.NewDecoder(codec.Options{ID: "id", Nullable: map[string]bool{c.feature: false},
			Schema: &model.Schema{Features: []model.Feature{{Name: c.feature}}, Classes: []string{"no", "yes"}}})
		if err != nil {
			t.Fatal(err)
		}
		var b model.Batch
		bad, err := d.Decode(&codec.Message{Value: value}, &b, nil)
		if err != nil || len(bad) != 1 || bad[0].Row != 3 || bad[0].Reason != codec.ReasonNull {
			t.Errorf("%s, %s: %v, %v", c.file, c.feature, bad, err)
			continue
		}
		if !slices.Equal(b.Columns[0].Float[:b.N], c.want) {
			t.Errorf("%s: %s is %v, want %v", c.file, c.feature, b.Columns[0].Float[:b.N], c.want)
		}
		letter, err := d.AppendRow(nil, bad[0].Row)
		if err != nil {
			t.Errorf("%s: the letter: %v", c.file, err)
			continue
		}
		again, err := d.Decode(&codec.Message{Value: letter}, &b, nil)
		if err != nil || len(again) != 1 || again[0].Reason != codec.ReasonNull {
			t.Errorf("%s: the letter reads as %v, %v", c.file, again, err)
		}
	}
}

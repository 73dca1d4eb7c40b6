package describe

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden configuration anew")

// awkward is a table of names and levels that a configuration must quote, leave out or explain.
func awkward() Table {
	columns := []string{"customer id", "seen", "yes", "a: b # c", "tab\there", "${HOME}", "model", "(sets)", "constant",
		"propensity_no", "pay \"type\"", "late", "remark\nnext", "y"}
	rows := make([][]string, 2400)
	for i := range rows {
		u := func(k int) float64 { return uniform(9, i, k) }
		y, late := "no", ""
		if u(1) < .3 {
			y, late = "yes: really", fmt.Sprint("2024-03-0", 1+i%5)
		}
		rows[i] = []string{
			fmt.Sprintf("K%05d", i*7919%100003), fmt.Sprintf("2024-02-%02dT%02d:%02d:00Z", 1+i/1440, i/60%24, i%60),
			strconv.Itoa(int(100 * u(2))), []string{"x, y", "{z}", "#", "null"}[int(4*u(3))], []string{"a\nb", "c\td", "\u0085",
				"\xff"}[int(4*u(4))],
			[]string{"true", "no",
				"1e3"}[int(3*u(5))], strconv.Itoa(int(9 * u(6))), strconv.Itoa(int(9 * u(7))), "same", strconv.Itoa(int(9 * u(8))),
			[]string{"card", "cash", "n/a"}[int(3*u(9))], late, "r" + strconv.Itoa(int(3*u(10))), y,
		}
	}
	return table(columns, rows)
}

// taken are some columns of the scores.
func taken(classes []string) []string {
	names := []string{"model", "lift"}
	for _, c := range classes {
		names = append(names, "propensity_"+c)
	}
	return names
}

func TestYAML(t *testing.T) {
	o := Options{Name: "my data (2024)", Label: "y", Taken: taken}
	got := describe(t, awkward(), o).YAML()
	path := filepath.Join("testdata", "awkward.yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the configuration changed (-update writes it anew):\n%s\nwant:\n%s", got, want)
	}
	again := describe(t, awkward(), o).YAML()
	if string(again) != string(got) {
		t.Error("a second look at the same table gives another configuration")
	}
}

func TestScalar(t *testing.T) {
	for text, want := range map[string]string{"job": "job", "a_b.c-d": "a_b.c-d", "no": `"no"`, "Yes": `"Yes"`, "y": `"y"`,
		"null": `"null"`, "1": `"1"`, "": `""`, "a b": `"a b"`, "e5": `"e5"`,
		`a"b\c`: `"a\"b\\c"`, "a\nb": `"a\nb"`, "\x00": `"\u0000"`, "<=50K": `"<=50K"`, "${X}": `"$${X}"`, "$X": `"$X"`,
		"größe": `"größe"`, "~": `"~"`, "\u0085": `"\u0085"`, "\ufeff": `"\uFEFF"`} {
		if got := scalar(text); got != want {
			t.Errorf("scalar(%q) = %s, want %s", text, got, want)
		}
	}
	for name, want := range map[string]string{"bank": "bank", "my data (2024)": "my-data-2024", "": "stage",
		"...": "stage", "größe": "gr-e"} {
		if got := topicName(name); got != want {
			t.Errorf("topicName(%q) = %q, want %q", name, got, want)
		}
	}
}

func yamlKey(line string) bool {
	for _, k := range []string{"name:", "record:", "id:", "time:", "label:", "column:", "classes:", "positive:",
		"missing:", "features:", "fit:"} {
		if strings.HasPrefix(line, k) {
			return true
		}
	}
	return false
}

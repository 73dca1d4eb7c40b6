package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Figures are the lines of a golden text, `name = values`, in the order in which they were added. Numbers have nine
// digits. They are compared by their values and not by their bytes: processors round the last digits otherwise.
type Figures struct{ lines []string }

// figuresTolerance is the relative difference up to which two numbers are one, figuresZero the absolute one.
const (
	figuresTolerance = 1e-6
	figuresZero      = 1e-9
)

// mostDifferences is the number of differing lines that a failure shows.
const mostDifferences = 20

// Add adds a line of a name and its values, which are numbers, texts, or slices of these.
func (f *Figures) Add(name string, values ...any) {
	line := name + " ="
	for _, v := range values {
		line += " " + figure(v)
	}
	f.lines = append(f.lines, line)
}

// Text adds the lines of a text under a name.
func (f *Figures) Text(name, text string) {
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		f.Add(fmt.Sprintf("%s:%d", name, i+1), strings.TrimRight(line, " "))
	}
}

// JSON adds the values of the JSON form of v, each under its path.
func (f *Figures) JSON(t testing.TB, name string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	var x any
	if err := d.Decode(&x); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	f.json(name, x)
}

// json adds a decoded JSON value. Lists of values, which are no lists or objects, are one line.
func (f *Figures) json(name string, v any) {
	switch x := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		var flat []any
		for _, k := range keys {
			if isFlat(x[k]) {
				flat = append(flat, k+":", x[k])
			}
		}
		if len(flat) > 0 || len(x) == 0 {
			f.Add(name, flat...)
		}
		for _, k := range keys {
			if !isFlat(x[k]) {
				f.json(name+"."+k, x[k])
			}
		}
	case []any:
		if !slices.ContainsFunc(x, func(v any) bool { return !isFlat(v) }) {
			f.Add(name, x...)
			return
		}
		for i, v := range x {
			f.json(fmt.Sprintf("%s[%d]", name, i), v)
		}
	default:
		f.Add(name, v)
	}
}

func isFlat(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func figure(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case float64:
		return strconv.FormatFloat(x, 'g', 9, 64)
	case float32:
		return strconv.FormatFloat(float64(x), 'g', 9, 64)
	case []float64:
		return figuresOf(x)
	case []float32:
		return figuresOf(x)
	case []int32:
		return figuresOf(x)
	case []string:
		return figuresOf(x)
	case string:
		if x == "" {
			return `""`
		}
		return strings.ReplaceAll(x, "\n", `\n`)
	}
	return fmt.Sprint(v)
}

func figuresOf[T any](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = figure(v)
	}
	return "[" + strings.Join(texts, " ") + "]"
}

// Golden holds the lines against the file of that path, and fails with the first ones that differ. With the variable
// LIFTSTREAM_GOLDEN=write it writes the file anew.
func (f *Figures) Golden(t testing.TB, path string) {
	t.Helper()
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(strings.Join(f.lines, "\n")+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	differences := Differences(f.lines, want)
	for i, d := range differences {
		if i == mostDifferences {
			t.Errorf("and %d more", len(differences)-i)
			break
		}
		t.Error(d)
	}
	if len(differences) > 0 {
		t.Errorf("%d of %d lines differ from %s. If they are to: LIFTSTREAM_GOLDEN=write, and read the difference "+
			"(CONTRIBUTING.md 4.3)", len(differences), len(want), path)
	}
}

// Differences tells how the lines of figures differ from the wanted ones. Lines belong together by their names, and
// those of the same name by their order.
func Differences(got, want []string) (differences []string) {
	byName := map[string][]string{}
	for _, line := range got {
		name, _, _ := strings.Cut(line, " = ")
		byName[name] = append(byName[name], line)
	}
	for _, line := range want {
		name, _, _ := strings.Cut(line, " = ")
		mine := byName[name]
		if len(mine) == 0 {
			differences = append(differences, "gone: "+line)
			continue
		}
		byName[name] = mine[1:]
		if !sameFigures(mine[0], line) {
			differences = append(differences, fmt.Sprintf("got  %s\nwant %s", mine[0], line))
		}
	}
	for _, line := range got {
		name, _, _ := strings.Cut(line, " = ")
		if left := byName[name]; len(left) > 0 {
			differences = append(differences, "new: "+left[0])
			byName[name] = left[1:]
		}
	}
	return differences
}

// sameFigures reports whether two lines are the same texts and whole numbers, and other numbers within the tolerance.
func sameFigures(a, b string) bool {
	if a == b {
		return true
	}
	split := func(r rune) bool { return strings.ContainsRune(" []()|,;:%", r) }
	x, y := strings.FieldsFunc(a, split), strings.FieldsFunc(b, split)
	return slices.EqualFunc(x, y, func(x, y string) bool {
		if x == y {
			return true
		}
		v, err1 := strconv.ParseFloat(x, 64)
		w, err2 := strconv.ParseFloat(y, 64)
		return err1 == nil && err2 == nil && strings.ContainsAny(x+y, ".e") &&
			math.Abs(v-w) <= figuresTolerance*max(math.Abs(v), math.Abs(w))+figuresZero
	})
}

package local

import (
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"liftstream/model"
)

// shared returns the path of a file that is not shipped.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("LIFTSTREAM_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: %s is missing; set LIFTSTREAM_SHARED to the folder that holds it", name)
	}
	return path
}

// folded is a data set with the fold of each record.
type folded struct {
	schema *model.Schema
	rows   []model.Row
	class  []int32
	fold   []int
}

func readFolds(t testing.TB, name string) *folded {
	t.Helper()
	f, err := os.Open(shared(t, "oracles/folds/"+name+".csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := lines[0]
	label, fold := slices.Index(head, "class"), slices.Index(head, "fold")
	d := &folded{schema: &model.Schema{Positive: -1}}
	for j, n := range head {
		if j != label && j != fold {
			d.schema.Features = append(d.schema.Features, model.Feature{Name: n})
		}
	}
	for _, l := range lines[1:] {
		if !slices.Contains(d.schema.Classes, l[label]) {
			d.schema.Classes = append(d.schema.Classes, l[label])
		}
	}
	slices.Sort(d.schema.Classes)
	for _, l := range lines[1:] {
		var row model.Row
		for j, text := range l {
			switch j {
			case label:
				d.class = append(d.class, int32(slices.Index(d.schema.Classes, text)))
			case fold:
				k, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				d.fold = append(d.fold, k)
			default:
				v, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatal(err)
				}
				row = append(row, v)
			}
		}
		d.rows = append(d.rows, row)
	}
	return d
}

// split returns the evidence of the records outside the fold and the indices of those in it.
func (d *folded) split(fold int) (*model.Evidence, []int) {
	ev := &model.Evidence{Schema: d.schema, Levels: model.NewLevels(d.schema), Columns: make([][]float64, len(d.schema.Features)), Seed: 1}
	var test []int
	for i, row := range d.rows {
		if d.fold[i] == fold {
			test = append(test, i)
			continue
		}
		for f, v := range row {
			ev.Columns[f] = append(ev.Columns[f], v)
		}
		ev.Class = append(ev.Class, d.class[i])
		ev.Weight = append(ev.Weight, 1)
		ev.Clock = append(ev.Clock, float64(len(ev.Clock)))
		ev.Time = append(ev.Time, 0)
		ev.Partition = append(ev.Partition, 0)
	}
	return ev, test
}

package propensity

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// table is a data file as coded records.
type table struct {
	schema *model.Schema
	levels *model.Levels
	rows   []model.Row
	class  []int32
}

// evidence returns the first n records as evidence.
func (d *table) evidence(n int) *model.Evidence {
	ev := &model.Evidence{Schema: d.schema, Levels: d.levels, Columns: make([][]float64, len(d.schema.Features)), Seed: 1}
	for i := range n {
		for f := range ev.Columns {
			ev.Columns[f] = append(ev.Columns[f], d.rows[i][f])
		}
		ev.Class = append(ev.Class, d.class[i])
		ev.Weight = append(ev.Weight, 1)
		ev.Clock = append(ev.Clock, float64(i))
		ev.Time = append(ev.Time, int64(i)*1e9)
		ev.Partition = append(ev.Partition, 0)
	}
	return ev
}

// load reads CSV files, one after the other: a column all of whose values are numbers or missing is continuous, others
// nominal. Class 1 is positive, class 0 everything else unless classes are given.
func load(t testing.TB, label, positive string, drop []string, paths ...string) *table {
	t.Helper()
	var head []string
	var rec [][]string
	for _, path := range paths {
		all := modeltest.CSV(t, path)
		head = all[0]
		rec = append(rec, all[1:]...)
	}
	d := &table{schema: &model.Schema{}, rows: make([]model.Row, len(rec)), class: make([]int32, len(rec))}
	seen := map[string]bool{}
	for _, r := range rec {
		seen[r[slices.Index(head, label)]] = true
	}
	if positive != "" {
		d.schema.Classes, d.schema.Positive = []string{"other", positive}, 1
	} else {
		for c := range seen {
			d.schema.Classes = append(d.schema.Classes, c)
		}
		sort.Strings(d.schema.Classes)
		d.schema.Positive = -1
	}
	var columns []int
	for c, name := range head {
		if name == label || slices.Contains(drop, name) {
			continue
		}
		f := model.Feature{Name: name, Kind: model.Continuous}
		for _, r := range rec {
			if v := strings.TrimSpace(r[c]); v != "" {
				if _, err := strconv.ParseFloat(v, 64); err != nil {
					f.Kind = model.Nominal
					break
				}
			}
		}
		d.schema.Features = append(d.schema.Features, f)
		columns = append(columns, c)
	}
	d.levels = model.NewLevels(d.schema)
	y := slices.Index(head, label)
	for i, r := range rec {
		row := make(model.Row, len(columns))
		for f, c := range columns {
			v := strings.TrimSpace(r[c])
			switch {
			case v == "":
				row[f] = math.NaN()
			case d.schema.Features[f].Kind == model.Continuous:
				row[f], _ = strconv.ParseFloat(v, 64)
			default:
				row[f] = float64(d.levels.Code(f, v))
			}
		}
		d.rows[i] = row
		if positive == "" {
			d.class[i] = int32(slices.Index(d.schema.Classes, r[y]))
		} else if r[y] == positive {
			d.class[i] = 1
		}
	}
	return d
}

// auc is the area under the curve of p against class 1, ties counted half.
func auc(p []float64, class []int32) float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	var sum, ones, zeros float64
	for i := 0; i < len(order); {
		j, a, b := i, 0., 0.
		for ; j < len(order) && p[order[j]] == p[order[i]]; j++ {
			if class[order[j]] == 1 {
				a++
			} else {
				b++
			}
		}
		sum += a * (zeros + b/2)
		ones, zeros = ones+a, zeros+b
		i = j
	}
	return sum / (ones * zeros)
}

func (d *table) example(i int) model.Example {
	return model.Example{Row: d.rows[i], Class: d.class[i], Weight: 1, Clock: float64(i), Time: int64(i) * 1e9}
}

// explain appends the reasons of a record that was just scored, every feature with its lift.
func explain(s *Scorecard, row model.Row, pending []float64, target int32, dst []model.Reason) []model.Reason {
	at := len(dst)
	dst = s.Effects(row, pending, target, dst)
	for i := range s.features {
		dst[at+i].Lift = s.Lift(pending, target, i)
	}
	return dst
}

package kernel_test

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/kernel"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
)

// stream reads a data file whose label is its last column, without the columns to leave out; a column of numbers is
// continuous, any other nominal.
func stream(t testing.TB, name, positive string, leave ...string) (*model.Schema, evaluate.Source) {
	t.Helper()
	rows := modeltest.CSV(t, modeltest.Shared(t, "data/"+name))
	header, rows := rows[0], rows[1:]
	label := len(header) - 1
	s := &model.Schema{}
	for _, r := range rows {
		if s.Class(r[label]) < 0 {
			s.Classes = append(s.Classes, r[label])
		}
	}
	slices.Sort(s.Classes)
	s.Positive = s.Class(positive)
	var columns []int
	for c, n := range header[:label] {
		if slices.Contains(leave, n) {
			continue
		}
		kind := model.Continuous
		for _, r := range rows {
			if _, err := strconv.ParseFloat(r[c], 64); err != nil && r[c] != "" {
				kind = model.Nominal
				break
			}
		}
		s.Features = append(s.Features, model.Feature{Name: n, Kind: kind})
		columns = append(columns, c)
	}
	return s, func(yield func(*model.Batch, error) bool) {
		const size = 1000
		for a := 0; a < len(rows); a += size {
			part := rows[a:min(a+size, len(rows))]
			b := &model.Batch{N: len(part), Columns: make([]model.Column, len(columns))}
			for k, c := range columns {
				col := &b.Columns[k]
				index := map[string]uint32{}
				for _, r := range part {
					if s.Features[k].Kind == model.Continuous {
						v, err := strconv.ParseFloat(r[c], 64)
						if err != nil {
							v = nan
						}
						col.Float = append(col.Float, v)
						continue
					}
					code, ok := index[r[c]]
					if !ok {
						code = uint32(len(col.Levels))
						index[r[c]] = code
						col.Levels = append(col.Levels, r[c])
					}
					if r[c] == "" {
						code = model.MissingCode
					}
					col.Code = append(col.Code, code)
				}
			}
			for i, r := range part {
				b.Label = append(b.Label, int32(s.Class(r[label])))
				b.Row = append(b.Row, int32(i))
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// TestHelps compares the scorecard with and without the kernel on the streams that are here: paired intervals, never
// worse by more than .001 nats.
func TestHelps(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: whole streams")
	}
	for _, c := range []struct {
		file, positive string
		leave          []string
	}{
		{"bank_full.csv.gz", "yes", []string{"duration"}},
		{"elec2.csv.gz", "UP", nil},
		{"adult_train.csv.gz", ">50K", nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			s, src := stream(t, c.file, c.positive, c.leave...)
			stage := func(name string, o propensity.Options, parts ...model.Factory) evaluate.Method {
				return evaluate.Stage(name, &model.Spec{Schema: s, Components: parts, Scorecard: propensity.New(o, s),
					Options: model.Options{
						Fingerprint: 1, Warmup: 500, TailBytes: 32 << 20, ReservoirRecords: 65536, ReservoirBytes: 64 << 20,
						WaitBytes: 64 << 20, ExpireAs: model.Unlabelled, Gate: .005, Seed: 1,
					}})
			}
			plain := propensity.Default()
			with := propensity.Default()
			with.Blocks = []propensity.Block{{Name: "kernel", Inputs: 1}}
			methods := []evaluate.Method{stage(evaluate.MethodAll, with, kernel.New(kernel.Default(), s)), stage("lift", plain)}
			e := evaluate.NewEvaluation(s, methods, 1000, 1)
			run, err := evaluate.Prequential(t.Context(), s, src, methods, evaluate.Options{Refit: 5000}, e.Add)
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Result(run)
			if err != nil {
				t.Fatal(err)
			}
			a, b, d := r.Methods[evaluate.MethodAll], r.Methods["lift"], r.Against["lift"]
			t.Logf("lift + kernel %.5f, lift %.5f: difference %+.5f in %+.5f; auc_blocks %.4f and %.4f; %d fits, %d refused",
				a.LogLoss, b.LogLoss, d.LogLoss, d.Interval, a.AUCBlocks, b.AUCBlocks, run.Fits, run.Refused)
			if d.LogLoss > .001 {
				t.Errorf("the kernel costs %v nats", d.LogLoss)
			}
		})
	}
}

var nan = math.NaN()

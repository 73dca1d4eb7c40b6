package local_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/local"
	"liftstream/model/modeltest"
	"liftstream/model/propensity"
)

// noisy are records of a file with three continuous and two nominal columns that have nothing to do with them.
type noisy struct {
	schema *model.Schema
	batch  *model.Batch
	noise  int // index of the first such column

	options local.Options
}

func readNoisy(t *testing.T, positive string, from int, drop []string, paths ...string) *noisy {
	t.Helper()
	var lines [][]string
	for i, path := range paths {
		more := modeltest.CSV(t, path)
		if i > 0 {
			more = more[1:]
		}
		lines = append(lines, more...)
	}
	head := lines[0]
	lines = lines[1+from:]
	x := &noisy{schema: &model.Schema{Positive: 1}, batch: &model.Batch{N: len(lines)},
		options: local.Options{Theta: local.Auto, Score: local.Balanced}}
	class := slices.Index(head, "class")
	for _, l := range lines {
		if c := l[class]; c != positive && !slices.Contains(x.schema.Classes, c) {
			x.schema.Classes = append(x.schema.Classes, c)
		}
	}
	x.schema.Classes = append(x.schema.Classes, positive)
	slices.Sort(x.schema.Classes[:len(x.schema.Classes)-1])
	x.schema.Positive = len(x.schema.Classes) - 1
	for i, l := range lines {
		x.batch.Label = append(x.batch.Label, int32(slices.Index(x.schema.Classes, l[class])))
		x.batch.Time, x.batch.Row = append(x.batch.Time, int64(i)), append(x.batch.Row, int32(i))
	}
	for j, name := range head {
		if j == class || slices.Contains(drop, name) {
			continue
		}
		c := model.Column{}
		for _, l := range lines {
			v, err := strconv.ParseFloat(l[j], 64)
			if l[j] == "" || l[j] == "?" {
				v, err = math.NaN(), nil
			}
			if err != nil {
				c = model.Column{}
				break
			}
			c.Float = append(c.Float, v)
		}
		kind := model.Continuous
		if c.Float == nil {
			kind = model.Nominal
			codes := map[string]uint32{}
			for _, l := range lines {
				if l[j] == "" || l[j] == "?" {
					c.Code = append(c.Code, model.MissingCode)
					continue
				}
				k, there := codes[l[j]]
				if !there {
					k = uint32(len(c.Levels))
					codes[l[j]], c.Levels = k, append(c.Levels, l[j])
				}
				c.Code = append(c.Code, k)
			}
		}
		x.schema.Features = append(x.schema.Features, model.Feature{Name: name, Kind: kind})
		x.batch.Columns = append(x.batch.Columns, c)
	}
	x.noise = len(x.schema.Features)
	uniform := func(i, j int) float64 { return (float64(model.Hash(9, uint64(i), uint64(j))>>12) + .5) / (1 << 52) }
	for j, of := range []func(i int) float64{
		func(i int) float64 { return uniform(i, 1) },
		func(i int) float64 { return math.Sqrt(-2*math.Log(uniform(i, 2))) * math.Cos(2*math.Pi*uniform(i, 3)) },
		func(i int) float64 { return math.Exp(3 * uniform(i, 4) * uniform(i, 5)) },
	} {
		c := model.Column{}
		for i := range x.batch.N {
			c.Float = append(c.Float, of(i))
		}
		x.schema.Features = append(x.schema.Features, model.Feature{Name: fmt.Sprint("noise", j)})
		x.batch.Columns = append(x.batch.Columns, c)
	}
	for _, levels := range []int{2, 30} {
		c := model.Column{}
		for k := range levels {
			c.Levels = append(c.Levels, fmt.Sprint("n", k))
		}
		for i := range x.batch.N {
			c.Code = append(c.Code, uint32(model.Hash(9, uint64(i), uint64(levels))%uint64(levels)))
		}
		x.schema.Features = append(x.schema.Features, model.Feature{Name: fmt.Sprint("noise of ", levels),
			Kind: model.Nominal})
		x.batch.Columns = append(x.batch.Columns, c)
	}
	return x
}

// shares counts, by feature, the records in whose subspace it is. n is the number of the records counted, size the sum
// of the sizes of their subspaces.
type shares struct {
	of   []float64
	n    float64
	size float64
}

func (s *shares) add(features []int32) {
	s.n++
	for _, j := range features {
		s.of[j]++
		s.size++
	}
}

// published counts the subspaces of each feature: in a stream that learns on the way, with a fit every 5,000 records,
// or of a model that was fitted to all the records. all counts every record with a trained model, some the ones for
// which only holds (nil: none).
func (x *noisy) published(t *testing.T, stream bool, only func(i int) bool) (all, some shares) {
	t.Helper()
	s := x.schema
	spec := &model.Spec{Schema: s, Components: []model.Factory{local.New(x.options, s)}, Scorecard: evaluate.Alone(s),
		Options: model.Options{Warmup: 500, TailBytes: 32 << 20, ReservoirRecords: 65536, ReservoirBytes: 64 << 20, Seed: 1,
			Gate: 1}}
	all.of, some.of = make([]float64, len(s.Features)), make([]float64, len(s.Features))
	count := func(i int, out *model.Scores, at int) {
		if out.Status[at] == model.StatusUntrained {
			return
		}
		features, _ := out.SubspaceOf(at)
		all.add(features)
		if only != nil && only(i) {
			some.add(features)
		}
	}
	if stream {
		source := func(yield func(*model.Batch, error) bool) { yield(x.batch, nil) }
		sink := func(r *evaluate.Record) error {
			count(int(r.Index), r.Scores[0], r.Row)
			return nil
		}
		if _, err := evaluate.Prequential(context.Background(), s, source, []evaluate.Method{evaluate.Stage("local", spec)},
			evaluate.Options{Refit: 5000, Partitions: 1}, sink); err != nil {
			t.Fatal(err)
		}
		return all, some
	}
	b := model.NewBuilder(spec)
	b.Add(x.batch)
	m, err := b.Fit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	p := model.NewPartition(spec, 0)
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	score := *x.batch
	score.Label = slices.Repeat([]int32{model.Unlabelled}, score.N)
	var out model.Scores
	p.Events(&score, &out)
	for i := range score.N {
		count(i, &out, i)
	}
	return all, some
}

// check: no column of noise is in more than 5 % of the subspaces, and these are of several features.
func (x *noisy) check(t *testing.T, name string, least float64, only func(i int) bool) (some [2]shares) {
	t.Helper()
	for k, stream := range []bool{false, true} {
		var all shares
		all, some[k] = x.published(t, stream, only)
		t.Logf("%s, stream %v: %.1f features a record, noise in %.4f", name, stream, all.size/all.n, all.of[x.noise:])
		for j := x.noise; j < len(all.of); j++ {
			if all.of[j] > .05*all.n {
				t.Errorf("%s, stream %v: %s is in %.3f of the subspaces", name, stream, x.schema.Features[j].Name, all.of[j]/all.n)
			}
		}
		if all.size < least*all.n {
			t.Errorf("%s, stream %v: %.2f features a record", name, stream, all.size/all.n)
		}
	}
	return some
}

// TestNothingTells: where labels are drawn, nearly every record has an empty subspace, and the stage leaves it empty,
// though the scorecard has contributions. Where one feature decides the labels, it is in most subspaces.
func TestNothingTells(t *testing.T) {
	for _, tells := range []bool{false, true} {
		x := readNoisy(t, "M", 0, []string{"fold"}, "testdata/wdbc.csv.gz")
		for i := range x.batch.Label {
			h := model.Hash(17, uint64(i)) % 100
			if tells && x.batch.Columns[x.noise].Float[i] < .5 {
				h /= 4
			}
			x.batch.Label[i] = int32(h / 50)
		}
		s := x.schema
		o := propensity.Default()
		o.Blocks = []propensity.Block{{Name: "local", Inputs: 1}}
		factory := local.New(local.Options{Theta: local.Auto, Observations: 16}, s)
		spec := &model.Spec{Schema: s, Components: []model.Factory{factory}, Scorecard: propensity.New(o, s),
			Options: model.Options{Warmup: 100, TailBytes: 1 << 20, ReservoirRecords: 1000, ReservoirBytes: 1 << 20, Seed: 1,
				Why: 3}}
		empty, with, why, n := 0, 0, 0, 0
		source := func(yield func(*model.Batch, error) bool) { yield(x.batch, nil) }
		sink := func(r *evaluate.Record) error {
			if r.Index < 450 {
				return nil
			}
			features, _ := r.Scores[0].SubspaceOf(r.Row)
			n++
			if len(features) == 0 {
				empty++
			}
			if slices.Contains(features, int32(x.noise)) {
				with++
			}
			if len(r.Scores[0].WhyOf(r.Row)) > 0 {
				why++
			}
			return nil
		}
		if _, err := evaluate.Prequential(t.Context(), s, source, []evaluate.Method{evaluate.Stage("local", spec)},
			evaluate.Options{Refit: 5000}, sink); err != nil {
			t.Fatal(err)
		}
		// A subspace may lack the feature where the class shares cross the base rates.
		if why != n || !tells && empty < n*85/100 || tells && with < n*75/100 {
			t.Errorf("tells %v: of %d records, %d subspaces are empty, %d have the feature, %d have reasons", tells, n, empty,
				with, why)
		}
	}
}

// TestNoiseIsNotPublished adds columns of noise to shipped records.
func TestNoiseIsNotPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	readNoisy(t, "M", 0, []string{"fold"}, "testdata/wdbc.csv.gz").check(t, "wdbc", 10, nil)
}

// TestNoiseIsNotPublishedUnderAnySetting: a short memory, which tries few records at a time, pools, and the other
// measures of relevance publish no noise either, and still publish columns that tell.
func TestNoiseIsNotPublishedUnderAnySetting(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: long computation")
	}
	x := readNoisy(t, "M", 0, []string{"fold"}, "testdata/wdbc.csv.gz")
	for name, change := range map[string]func(o *local.Options){
		"a half-life of 100 records": func(o *local.Options) { o.HalfLife.Records = 100 },
		"a half-life by time":        func(o *local.Options) { o.HalfLife.Duration = 100 }, // a record comes each nanosecond
		"pools":                      func(o *local.Options) { o.Pool.Bytes, o.Pool.HalfLife.Records = 1<<20, 200 },
		"to the reference":           func(o *local.Options) { o.Divergence = local.ToReference },
		"the lower bound":            func(o *local.Options) { o.Divergence = local.LowerBound },
	} {
		y := *x
		change(&y.options)
		y.check(t, "wdbc, "+name, 5, nil)
	}
}

// TestWhatTellsIsPublished compares the subspaces of four streams with columns of noise. On bank it also takes the
// records whose last campaign was a success and looks for the features that decide their scores.
func TestWhatTellsIsPublished(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: it takes some minutes")
	}
	bank := readNoisy(t, "yes", 0, []string{"duration"}, modeltest.Shared(t, "data/bank_full.csv.gz"))
	j := slices.IndexFunc(bank.schema.Features, func(f model.Feature) bool { return f.Name == "poutcome" })
	c := &bank.batch.Columns[j]
	success := uint32(slices.Index(c.Levels, "success"))
	some := bank.check(t, "bank", 3, func(i int) bool { return c.Code[i] == success })
	for k, s := range some {
		t.Logf("bank, stream %v: poutcome is in %.4f of %v", k == 1, s.of[j]/s.n, s.n)
		if s.n != 1511 || s.of[j] < .95*s.n {
			t.Errorf("bank, stream %v: of %v records with success, %v have poutcome in their subspace", k == 1, s.n, s.of[j])
		}
	}
	readNoisy(t, "UP", 25312, nil, modeltest.Shared(t, "data/elec2.csv.gz")).check(t, "elec2", 2, nil)
	readNoisy(t, "Yes", 0, []string{"customerID"}, modeltest.Shared(t, "data/telco_churn.csv")).check(t, "telco", 5, nil)
	readNoisy(t, ">50K", 30000, nil, modeltest.Shared(t, "data/adult_train.csv.gz"),
		modeltest.Shared(t, "data/adult_test.csv.gz")).check(t, "adult", 5, nil)
}

package assemble

import (
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// specialHead is the head of a configuration of a score with codes and of a number that tells nothing.
const specialHead = `
name: credit
record:
  label: {column: class, classes: ["no", "yes"], positive: "yes"}
  features:
    - {name: score, kind: continuous, special: [-888, -999]}
    - {name: noise, kind: continuous}
fit: {warmup: 400}
`

// alone switches all components off.
const alone = "local: off\nkernel: off\ntrees: off\nlift: {sets: {max: 1}, profiles: {top: 0}, windows: {top: 0}}\n"

// scored is a stream of scores of which 12 % are -999 and 6 % are -888, with its true propensities. The risk falls with
// the score; that of the codes is unlike their place: a low score would be .6 and more.
func scored(seed uint64, n int, planted bool) (b *model.Batch, truth []float64) {
	b = &model.Batch{N: n, Columns: make([]model.Column, 2)}
	for i := range n {
		u := func(k uint64) float64 { return float64(model.Hash(seed, uint64(i), k)>>11) / (1 << 53) }
		z := math.Sqrt(-2*math.Log(1-u(0))) * math.Cos(2*math.Pi*u(1))
		v, p := math.Round(620+90*z), 1/(1+math.Exp(1.2+z))
		switch w := u(2); {
		case w < .12:
			v = -999
			if planted {
				p = .35
			}
		case w < .18:
			v = -888
			if planted {
				p = .03
			}
		}
		y := int32(0)
		if u(3) < p {
			y = 1
		}
		b.Columns[0].Float = append(b.Columns[0].Float, v)
		b.Columns[1].Float = append(b.Columns[1].Float, math.Floor(100*u(4)))
		b.Label, b.Row, truth = append(b.Label, y), append(b.Row, int32(i)), append(truth, p)
	}
	return b, truth
}

// cellwise is the true mean propensity in the record's cell: of fifteen quantile cells of the numbers, and the codes.
func cellwise(b *model.Batch, truth []float64) []float64 {
	var numbers []float64
	for _, v := range b.Columns[0].Float {
		if v > 0 {
			numbers = append(numbers, v)
		}
	}
	slices.Sort(numbers)
	cell := func(v float64) int {
		if v < 0 {
			return int(v)
		}
		k, _ := slices.BinarySearch(numbers, v)
		return 15 * k / len(numbers)
	}
	sum, n := map[int]float64{}, map[int]float64{}
	for i, v := range b.Columns[0].Float {
		sum[cell(v)] += truth[i]
		n[cell(v)]++
	}
	out := make([]float64, b.N)
	for i, v := range b.Columns[0].Float {
		out[i] = sum[cell(v)] / n[cell(v)]
	}
	return out
}

// logLoss is that of propensities of "yes" from record from on.
func logLoss(b *model.Batch, p []float64, from int) (sum float64) {
	for i := from; i < b.N; i++ {
		q := p[i]
		if b.Label[i] == 0 {
			q = 1 - q
		}
		sum -= math.Log(q) / float64(b.N-from)
	}
	return sum
}

// stream scores and learns the records, with a fit after 1,000 and 8,000 of them.
func stream(t *testing.T, spec *model.Spec, b *model.Batch) []float64 {
	t.Helper()
	p := model.NewPartition(spec, 0)
	out, yes := model.Scores{}, make([]float64, 0, b.N)
	for a := 0; a < b.N; a += 100 {
		p.Events(cut(b, a, min(a+100, b.N)), &out)
		for i := range min(100, b.N-a) {
			yes = append(yes, out.P[2*i+1])
		}
		if n := a + 100; n == 1000 || n == 8000 {
			m, err := model.Fit(t.Context(), spec, model.Held{0: snapshot(p)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Swap(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	return yes
}

// TestSpecialCodes: the log-loss of a score with two codes is within .002 of that of the true propensities by cell,
// with a direction and without, of a stream and of files; without the codes a direction costs .02 and more.
func TestSpecialCodes(t *testing.T) {
	modeltest.Computes(t)
	const n = 16000
	for _, direction := range []string{"", "propensity: {monotone: {score: down}}\n"} {
		for _, seed := range []uint64{1, 2} {
			st := stage(t, specialHead+alone+direction)
			b, truth := scored(seed, n, true)
			want := logLoss(b, cellwise(b, truth), 1000)
			got := logLoss(b, stream(t, st.Spec, b), 1000)
			t.Logf("stream %d, %q: log-loss %.4f, by cell %.4f", seed, direction, got, want)
			if got > want+.002 {
				t.Errorf("stream %d, %q: log-loss %.4f, by cell %.4f", seed, direction, got, want)
			}
			builder := model.NewBuilder(st.Spec)
			builder.Add(cut(b, 0, n/2))
			m, err := builder.Fit(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := model.NewPartition(st.Spec, 0)
			if err := p.Swap(m); err != nil {
				t.Fatal(err)
			}
			rest := cut(b, n/2, n)
			labels := rest.Label
			rest.Label = slices.Repeat([]int32{model.Unlabelled}, rest.N)
			var out model.Scores
			p.Events(rest, &out)
			rest.Label = labels
			yes := make([]float64, rest.N)
			for i := range yes {
				yes[i] = out.P[2*i+1]
			}
			want = logLoss(rest, cellwise(b, truth)[n/2:], 0)
			if got := logLoss(rest, yes, 0); got > want+.002 {
				t.Errorf("files %d, %q: log-loss %.4f, by cell %.4f", seed, direction, got, want)
			}
			if direction != "" {
				for f := range st.Spec.Schema.Features {
					st.Spec.Schema.Features[f].Special = nil
				}
				if plain := logLoss(b, stream(t, st.Spec, b), 1000); plain < want+.02 {
					t.Errorf("stream %d, without codes: log-loss %.4f", seed, plain)
				}
			}
		}
	}
}

// TestSpecialCodesThatTellNothing: codes that stand for numbers of any size cost no more than .0005 beside missing
// values.
func TestSpecialCodesThatTellNothing(t *testing.T) {
	st := stage(t, specialHead+alone)
	b, _ := scored(3, 16000, false)
	got := logLoss(b, stream(t, st.Spec, b), 1000)
	for i, v := range b.Columns[0].Float {
		if v < 0 {
			b.Columns[0].Float[i] = math.NaN()
		}
	}
	if want := logLoss(b, stream(t, st.Spec, b), 1000); got > want+.0005 {
		t.Errorf("log-loss %.5f, %.5f where codes are missing", got, want)
	}
}

// TestSpecialCodesAreShown: the reasons of a score show the code as the number that it was.
func TestSpecialCodesAreShown(t *testing.T) {
	st := stage(t, specialHead+alone)
	b, _ := scored(4, 2000, true)
	p := model.NewPartition(st.Spec, 0)
	var out model.Scores
	p.Events(b, &out)
	m, err := model.Fit(t.Context(), st.Spec, model.Held{0: snapshot(p)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Swap(m); err != nil {
		t.Fatal(err)
	}
	one := &model.Batch{N: 1, Columns: []model.Column{{Float: []float64{-888}}, {Float: []float64{50}}},
		Label: []int32{model.Unlabelled}, Row: []int32{0}}
	p.Events(one, &out)
	why := out.WhyOf(0)
	if len(why) == 0 || why[0].Feature != 0 || why[0].Value != -888 || !(why[0].Effect < -.5) {
		t.Errorf("%+v", why)
	}
}

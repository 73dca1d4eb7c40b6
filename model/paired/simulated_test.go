package paired

import (
	"math"
	"math/rand"
	"testing"
)

const (
	looks = 1000 // records between two looks
	runs  = 200
	alpha = 0.05
)

// forecasts is a simulated stream: the probability that record i is of class 1, and two propensities.
type forecasts func(r *rand.Rand, i int) (truth, first, second float64)

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// noisy are two forecasters that know the log-odds but for noise of their own.
func noisy(base, first, second float64) forecasts {
	return func(r *rand.Rand, _ int) (float64, float64, float64) {
		x := base + r.NormFloat64()
		return logistic(x), logistic(x + first*r.NormFloat64()), logistic(x + second*r.NormFloat64())
	}
}

// inRuns are forecasters that know nothing of a state that stays for 50 records on average and moves the classes.
func inRuns() forecasts {
	state := 1.0
	return func(r *rand.Rand, i int) (float64, float64, float64) {
		if r.Float64() < 0.02 {
			state = -state
		}
		x := r.NormFloat64()
		return logistic(x + state), logistic(x + 0.3*r.NormFloat64()), logistic(x + 0.3*r.NormFloat64())
	}
}

// run is the outcome of a simulated stream.
type run struct {
	verdict Verdict // the first one at a look
	at      int     // records then
	plain   bool    // an interval meant for one look, of 1.96 standard errors, told the two apart at some look
	missed  bool    // the mean of the expected differences lay outside the interval at some look
}

func simulated(t *testing.T, seed int64, n int, f forecasts) (out run) {
	t.Helper()
	r, c := rand.New(rand.NewSource(seed)), New(2)
	var sum, square, expected float64
	for i := range n {
		p, a, b := f(r, i)
		class := 0
		if r.Float64() < p {
			class = 1
		}
		if err := c.Add([]float64{1 - a, a}, []float64{1 - b, b}, class, 1); err != nil {
			t.Fatal(err)
		}
		expected += (1-p)*c.ratio[0] + p*c.ratio[1]
		sum += c.ratio[class]
		square += c.ratio[class] * c.ratio[class]
		if m := float64(i + 1); (i+1)%looks == 0 {
			low, high := c.Interval(alpha)
			out.missed = out.missed || expected/m < low || expected/m > high
			out.plain = out.plain || math.Abs(sum) > 1.96*math.Sqrt(square-sum*sum/m)
			if got := c.Verdict(alpha); out.verdict == Open && got != Open {
				out.verdict, out.at = got, i+1
			}
		}
	}
	return out
}

// TestFalseVerdicts: of 200 comparisons of two forecasters of which none is better, each looked at every 1,000 records,
// at most a twentieth gives a verdict. Intervals that are meant for one look give one in more than a tenth.
func TestFalseVerdicts(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: eight million records")
	}
	const n = 10000
	for _, c := range []struct {
		name string
		f    func() forecasts
	}{
		{"little noise", func() forecasts { return noisy(-2, .1, .1) }},
		{"much noise", func() forecasts { return noisy(-2, 1, 1) }},
		{"a rare class", func() forecasts { return noisy(-6, .3, .3) }},
		{"classes in runs", inRuns},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var wrong, missed, plain int
			for seed := range runs {
				o := simulated(t, int64(seed), n, c.f())
				if o.verdict != Open {
					wrong++
				}
				if o.missed {
					missed++
				}
				if o.plain {
					plain++
				}
			}
			t.Logf("%d false verdicts and %d misses in %d runs; by plain intervals %d", wrong, missed, runs, plain)
			if wrong > runs/20 || missed > runs/20 {
				t.Errorf("%d false verdicts and %d misses in %d runs, want at most %d", wrong, missed, runs, runs/20)
			}
			if plain <= runs/10 {
				t.Errorf("plain intervals gave %d false verdicts: the runs are too easy to tell anything", plain)
			}
		})
	}
}

// TestDifferenceIsFound: where the second forecaster is better by .005 nats, nearly every run says so within 30,000
// records, and none says the opposite. Swapped forecasters give the swapped verdict.
func TestDifferenceIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: two million records")
	}
	const n, some = 30000, 60
	f := noisy(-2, .292, 0) // 0.0050 nats, by 10 million records
	swapped := func(r *rand.Rand, i int) (float64, float64, float64) {
		p, a, b := f(r, i)
		return p, b, a
	}
	r, mean := rand.New(rand.NewSource(1)), 0.0
	for i := range 1_000_000 {
		p, a, b := f(r, i)
		mean += (p*math.Log(b/a) + (1-p)*math.Log((1-b)/(1-a))) / 1e6
	}
	if math.Abs(mean-.005) > .0001 {
		t.Fatalf("the true difference is %v", mean)
	}
	found, at := 0, 0
	for seed := range some {
		switch o := simulated(t, int64(seed), n, f); o.verdict {
		case First:
			t.Errorf("run %d: the first one is called better", seed)
		case Second:
			found++
			at += o.at
		}
	}
	t.Logf("%d of %d found, after %d records on average", found, some, at/max(1, found))
	if found < some-3 || at > 10000*found {
		t.Errorf("found in %d of %d runs, after %d records on average", found, some, at/max(1, found))
	}
	if o, back := simulated(t, 0, n, f), simulated(t, 0, n, swapped); back.verdict != First || back.at != o.at {
		t.Errorf("swapped: %v at %d, want first at %d", back.verdict, back.at, o.at)
	}
}

// TestChangingDifference: the interval holds the mean of the expected differences also where these change, and a
// forecaster that is better by turns.
func TestChangingDifference(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: a million records")
	}
	missed := 0
	for seed := range runs {
		f := func(r *rand.Rand, i int) (float64, float64, float64) {
			first, second := 0.2, 0.5
			if i/700%2 == 1 {
				first, second = 0.8, 0.1
			}
			return noisy(-1, first, second)(r, i)
		}
		if simulated(t, int64(seed), 4000, f).missed {
			missed++
		}
	}
	if missed > runs/20 {
		t.Errorf("%d of %d intervals miss, want at most %d", missed, runs, runs/20)
	}
}

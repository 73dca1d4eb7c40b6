package drift

import (
	"math"
	"slices"
	"testing"
)

// window is ADWIN by its definition, over a list of the numbers in the same buckets: nothing is kept but the numbers
// and the lengths of the buckets.
type window struct {
	o       ADWINOptions
	xs      []float64
	lengths []int // oldest first
	ticks   int
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func variance(xs []float64) float64 {
	m, sum := mean(xs), 0.0
	for _, x := range xs {
		sum += (x - m) * (x - m)
	}
	return sum / float64(len(xs))
}

func (w *window) Add(x float64) bool {
	w.xs, w.lengths = append(w.xs, x), append(w.lengths, 1)
	for size := 1; ; size *= 2 {
		same := 0
		for _, n := range w.lengths {
			if n == size {
				same++
			}
		}
		if same <= w.o.Buckets {
			break
		}
		k := slices.Index(w.lengths, size)
		w.lengths = slices.Delete(w.lengths, k, k+1)
		w.lengths[k] = 2 * size
	}
	if w.ticks++; w.ticks%w.o.Clock != 0 || len(w.xs) <= w.o.Grace {
		return false
	}
	changed := false
	for w.cut() {
		changed = true
		w.xs, w.lengths = w.xs[w.lengths[0]:], w.lengths[1:]
	}
	return changed
}

func (w *window) cut() bool {
	n, at := len(w.xs), 0
	d := math.Log(2 * math.Log(float64(n)) / w.o.Delta)
	for _, length := range w.lengths {
		at += length
		if at < w.o.Least || n-at < w.o.Least {
			continue
		}
		m := 1/float64(at-w.o.Least+1) + 1/float64(n-at-w.o.Least+1)
		if math.Abs(mean(w.xs[:at])-mean(w.xs[at:])) > math.Sqrt(2*m*variance(w.xs)*d)+2./3*d*m {
			return true
		}
	}
	return false
}

// TestADWINBySlowWindow compares with the definition on streams that change often.
func TestADWINBySlowWindow(t *testing.T) {
	total := 0
	for seed := range uint64(6) {
		o := ADWINOptions{Delta: []float64{.002, .1, .5}[seed%3], Clock: 1 + int(seed), Buckets: 1 + int(seed),
			Least: 1 + 3*int(seed%2), Grace: int(5 * seed)}
		xs := make([]float64, 2500)
		for i := range xs {
			xs[i] = uniform(100+seed, i, 0) + .4*math.Floor(3*uniform(100+seed, i/300, 1))
		}
		w := &window{o: o}
		fast, slow := alarms(NewADWIN(o), xs, nil), alarms(w, xs, nil)
		if !slices.Equal(fast, slow) {
			t.Errorf("%+v: alarms %v, want %v", o, fast, slow)
		}
		total += len(slow)
	}
	if total < 30 {
		t.Errorf("%d alarms: too few to tell", total)
	}
}

// TestNoise: of 40 steady streams of 10,000 errors, at most a few have any alarm, and a change of the error rate is
// found soon after it.
func TestNoise(t *testing.T) {
	const n = 10_000
	o := DefaultPageHinkley()
	o.Threshold = 100 // 50 gives alarm in a quarter of steady streams of this length
	for name, fresh := range map[string]func() Detector{
		"ADWIN":        func() Detector { return NewADWIN(DefaultADWIN()) },
		"Page-Hinkley": func() Detector { return NewPageHinkley(o) },
	} {
		quiet, found := 0, 0
		for seed := range uint64(40) {
			steady, moved := make([]float64, n), make([]float64, n)
			for i := range n {
				steady[i] = truth(uniform(seed, i, 2) < .2)
				moved[i] = truth(uniform(seed, i, 2) < .2+.2*math.Floor(2*float64(i)/n))
			}
			if len(alarms(fresh(), steady, nil)) == 0 {
				quiet++
			}
			at := alarms(fresh(), moved, nil)
			at = slices.DeleteFunc(at, func(i int) bool { return i < n/2 })
			if len(at) > 0 && at[0] < n/2+900 {
				found++
			}
		}
		if quiet < 38 || found < 39 {
			t.Errorf("%s: no alarm in %d steady streams of 40, the change found in %d", name, quiet, found)
		}
	}
}

// TestNumbersThatAreNone change nothing, and bounds of options are held.
func TestNumbersThatAreNone(t *testing.T) {
	xs := make([]float64, 3000)
	for i := range xs {
		xs[i] = number("errors, abrupt", 2, i, len(xs))
	}
	with := []float64{math.NaN()}
	for _, x := range xs {
		with = append(with, x, math.NaN(), math.Inf(1), math.Inf(-1))
	}
	o := DefaultPageHinkley()
	o.Threshold = 10
	for name, fresh := range map[string]func() Detector{
		"ADWIN":        func() Detector { return NewADWIN(DefaultADWIN()) },
		"Page-Hinkley": func() Detector { return NewPageHinkley(o) },
	} {
		var want []int
		for _, i := range alarms(fresh(), xs, nil) {
			want = append(want, 4*i+1)
		}
		if got := alarms(fresh(), with, nil); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: alarms %v, want %v", name, got, want)
		}
	}
	if a := NewADWIN(DefaultADWIN()); !math.IsNaN(a.Mean()) || !math.IsNaN(a.Variance()) || a.Width() != 0 {
		t.Errorf("an empty window: %+v", a)
	}
	nan := math.NaN()
	for _, o := range []ADWINOptions{{}, {nan, 1, 1, 1, 0}, {1, 1, 1, 1, 0}, {.1, 0, 1, 1, 0}, {.1, 1, 0, 1, 0},
		{.1, 1, 1, 0, 0}, {.1, 1, 1, 1, -1}} {
		panics(t, o, func() { NewADWIN(o) })
	}
	for _, o := range []PageHinkleyOptions{{}, {-1, 0, 1, 1, Up}, {0, nan, 1, 1, Up}, {0, 0, 0, 1, Up}, {0, 0, 1, 0, Up},
		{0, 0, 1, 1.1, Up}, {0, 0, 1, 1, Down + 1}} {
		panics(t, o, func() { NewPageHinkley(o) })
	}
}

func panics(t *testing.T, o any, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%+v is taken", o)
		}
	}()
	f()
}

// TestMemoryIsBounded: a window of a million numbers is a few buckets a row.
func TestMemoryIsBounded(t *testing.T) {
	a := NewADWIN(DefaultADWIN())
	for i := range 1_000_000 {
		a.Add(float64(i % 2))
	}
	buckets := 0
	for _, r := range a.rows {
		buckets += cap(r)
	}
	if a.Width() != 1_000_000 || buckets > 200 {
		t.Errorf("a window of %d numbers has room for %d buckets", a.Width(), buckets)
	}
}

package drift

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"testing"
)

// world is a stream for a watch: two features, a propensity that follows them, and a class drawn by it.
type world struct {
	seed    uint64
	from    int     // record from which on it is another one:
	moved   float64 // the numbers move by so much,
	rate    float64 // of the records without a level so many are missing,
	flipped bool    // the class is drawn by the opposite of the propensity
	spread  float64 // of the propensities in log-odds; 0 = 1
	unlike  float64 // the log-odds that the class is drawn by exceed those of the propensity by so much
	sharper float64 // these log-odds are 1 + sharper times those of the propensity
	small   bool    // windows of few records
	delay   int     // records after which the label comes
	refits  int     // records between models, 0 = none
}

func (x *world) at(i int) (number float64, level string, p float64, class int32) {
	u := func(k int) float64 { return uniform(x.seed, i, k) }
	number = math.Sqrt(-2*math.Log(1-u(1))) * math.Cos(2*math.Pi*u(2))
	level = []string{"a", "b", "c"}[int(3*u(3))]
	spread := x.spread
	if spread == 0 {
		spread = 1
	}
	z := spread*number - 1
	p = 1 / (1 + math.Exp(-z))
	truth := p
	if i >= x.from {
		if truth = 1 / (1 + math.Exp(-(1+x.sharper)*z-x.unlike)); x.flipped {
			truth = 1 - p
		}
		if number += x.moved; u(4) < x.rate {
			level = ""
		}
	}
	if u(5) < truth {
		class = 1
	}
	return number, level, p, class
}

func (x *world) watch(rate float64) *Watch {
	o := WatchOptions{MonitorOptions: DefaultMonitor(), Features: []Column{{Name: "x"}, {Name: "k", Kind: Levels}},
		Classes: []string{"no", "yes"}, Target: 1, Late: x.delay > 0}
	if x.small {
		o.Reference, o.Window, o.Step = 80, 20, 10
	}
	o.FalseAlarms = rate
	return NewWatch(o)
}

// run gives records from up to to to the watch.
func (x *world) run(w *Watch, from, to int) {
	for i := from; i < to; i++ {
		if x.refits > 0 && i%x.refits == x.refits-1 {
			w.Refit(math.NaN())
		}
		number, level, p, class := x.at(i)
		w.Number(0, number)
		w.Level(1, level, level != "")
		w.Scored(int64(i/10), int32(i%10), []float64{1 - p, p}, x.delay == 0)
		if j := i - x.delay; j >= 0 {
			if x.delay > 0 {
				_, _, _, class = x.at(j)
			}
			w.Learned(int64(j/10), int32(j%10), class)
		}
	}
}

// TestWatchOfStableStreams: no alarm in 20 streams of 100,000 records, of propensities near and far from even, with
// labels at once and late.
func TestWatchOfStableStreams(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for seed := range uint64(20) {
		x := world{seed: seed, from: math.MaxInt, spread: []float64{.01, .5, 1, 3, 6}[seed%5], delay: 700 * int(seed%2),
			refits: 5000}
		w := x.watch(DefaultMonitor().FalseAlarms)
		x.run(w, 0, n)
		if w.Total() > 0 {
			t.Errorf("seed %d: %+v", seed, w.Found(0))
		}
	}
}

// TestWatchFindsChanges within 1,000 records of where they can be seen, each by its kind.
func TestWatchFindsChanges(t *testing.T) {
	const from = 8100
	for _, c := range []struct {
		what  string
		world world
		kind  AlarmKind
		on    string
	}{
		{"the numbers move", world{moved: .6}, Values, "x"},
		{"levels go missing", world{rate: .15}, Gaps, "k"},
		{"the class turns round", world{flipped: true}, OverPromise, LossColumn},
		{"the class turns round, late labels", world{flipped: true, delay: 1500}, OverPromise, LossColumn},
		{"more positives than promised", world{unlike: 1.5}, OverPromise, LossColumn},
		{"the class turns round, a model serves", world{flipped: true, refits: 3000}, OverExpectation, LossColumn},
		{"more positives", world{unlike: 2.5}, Values, ClassColumn},
		{"propensities of little courage", world{sharper: 3}, UnderPromise, LossColumn},
	} {
		c.world.from, c.world.seed = from, 77
		w := c.world.watch(DefaultMonitor().FalseAlarms)
		c.world.run(w, 0, from)
		if w.Total() > 0 {
			t.Errorf("%s: before it %+v", c.what, w.Found(0))
		}
		c.world.run(w, from, from+c.world.delay+1000)
		found := false
		for _, f := range w.Found(0) {
			found = found || f.Kind == c.kind && f.Column == c.on
		}
		if !found {
			t.Errorf("%s: found %+v", c.what, w.Found(0))
		}
	}
}

// TestWatchRestored: a watch that is written and read at any record goes on as the one that was not, to the same bytes;
// so do its figures.
func TestWatchRestored(t *testing.T) {
	for _, delay := range []int{0, 300} {
		x := world{seed: 5, from: 4000, moved: .3, flipped: true, delay: delay, refits: 2700}
		whole := x.watch(.5)
		x.run(whole, 0, 7000)
		want := whole.AppendBinary(nil)
		for _, at := range []int{0, 1, 249, 250, 1999, 2000, 2501, 2699, 3333, 5401, 6999} {
			w := x.watch(.5)
			x.run(w, 0, at)
			again := x.watch(.5)
			if err := again.Load(w.AppendBinary(nil)); err != nil {
				t.Fatalf("delay %d, at %d: %v", delay, at, err)
			}
			x.run(again, at, 7000)
			if !bytes.Equal(again.AppendBinary(nil), want) {
				t.Errorf("delay %d, restored at %d: other bytes", delay, at)
			}
			if fmt.Sprint(again.Figures()) != fmt.Sprint(whole.Figures()) {
				t.Errorf("delay %d, restored at %d: %+v, want %+v", delay, at, again.Figures(), whole.Figures())
			}
		}
		if whole.Total() == 0 {
			t.Error("no alarm to restore")
		}
	}
}

// TestGoldenWatch: the bytes of format 1 are read for ever.
func TestGoldenWatch(t *testing.T) {
	const file = "testdata/watch-1.gz"
	x := world{seed: 9, from: 300, moved: 3, flipped: true, delay: 40, refits: 260, small: true}
	w := x.watch(.01)
	x.run(w, 0, 430)
	if os.Getenv("LIFTSTREAM_GOLDEN") == "write" {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(w.AppendBinary(nil))
		z.Close()
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	again := x.watch(.01)
	if err := again.Load(want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.AppendBinary(nil), want) {
		t.Error("format 1 is written otherwise than it was read")
	}
	if again.Total() == 0 || again.Found(0)[0] != w.Found(0)[0] {
		t.Errorf("alarms %+v, want %+v", again.Found(0), w.Found(0))
	}
}

// TestHostileWatchNoPanic: cut and changed bytes give an error or a watch that works.
func TestHostileWatchNoPanic(t *testing.T) {
	x := world{seed: 3, from: 200, moved: 1, delay: 20, small: true}
	w := x.watch(.5)
	x.run(w, 0, 330)
	b := w.AppendBinary(nil)
	try := func(b []byte) {
		again := x.watch(.5)
		if again.Load(b) == nil {
			x.run(again, 330, 360)
			again.Figures()
			again.AppendBinary(nil)
		}
	}
	for i := 0; i < len(b); i += 1 + len(b)/300 {
		try(b[:i])
	}
	for i := range 3000 {
		changed := bytes.Clone(b)
		at := int(uniform(6, i, 1) * float64(len(b)))
		if i < 400 {
			at = i // the head
		}
		if i > 2200 {
			at = len(b) - 1 - int(uniform(6, i, 1)*min(3000, float64(len(b)-1))) // the end, where the sums lie
		}
		changed[at] ^= byte(1 + uniform(6, i, 2)*254)
		try(changed)
	}
}

// TestEstimatesByHand: the promised loss and AUC of a few records, and those by their labels.
func TestEstimatesByHand(t *testing.T) {
	x := world{}
	w := x.watch(.01)
	ps, classes := []float64{.2, .5, .9, .2}, []int32{0, 1, 1, 1}
	var promised, loss, pairs, good float64
	for i, p := range ps {
		w.Number(0, 0)
		w.Level(1, "", false)
		w.Scored(int64(i), 0, []float64{1 - p, p}, true)
		w.Learned(int64(i), 0, classes[i])
		promised -= p*math.Log(p) + (1-p)*math.Log(1-p)
		loss -= math.Log([]float64{1 - p, p}[classes[i]])
		for _, q := range ps { // one record positive, the other negative
			weight := p * (1 - q)
			pairs += weight
			if good += weight; p < q {
				good -= weight
			} else if p == q {
				good -= weight / 2
			}
		}
	}
	f := w.Figures()
	for _, c := range []struct {
		what      string
		got, want float64
	}{{"estimated", f.Estimated, promised / 4}, {"promised", f.Promised, promised / 4}, {"log-loss", f.LogLoss, loss / 4},
		{"estimated AUC", f.EstimatedAUC, good / pairs}, {"AUC", f.AUC, 2.5 / 3}} {
		if math.Abs(c.got-c.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// BenchmarkWatch is the cost of a record of 16 features with its label.
func BenchmarkWatch(b *testing.B) {
	o := WatchOptions{MonitorOptions: DefaultMonitor(), Classes: []string{"no", "yes"}, Target: 1}
	for f := range 16 {
		o.Features = append(o.Features, Column{Name: fmt.Sprint(f), Kind: Kind(f % 2)})
	}
	w := NewWatch(o)
	numbers, levels := make([]float64, 4096), []string{"management", "technician", "services", "blue-collar"}
	for i := range numbers {
		numbers[i] = uniform(1, i, 1)
	}
	p := make([]float64, 2)
	for i := 0; b.Loop(); i++ {
		for f := range 8 {
			x := numbers[(i*7+f*131)%4096]
			w.Number(2*f, x)
			w.Level(2*f+1, levels[int(4*x)], true)
		}
		p[1] = numbers[i%4096]*.8 + .1
		p[0] = 1 - p[1]
		w.Scored(int64(i), 0, p, true)
		w.Learned(int64(i), 0, int32(i%2))
	}
}

// TestKindsAsText: each kind comes back from its text, and no other text is one.
func TestKindsAsText(t *testing.T) {
	for k := Values; k <= OverExpectation; k++ {
		text, err := k.MarshalText()
		var back AlarmKind
		if err != nil || back.UnmarshalText(text) != nil || back != k {
			t.Errorf("%v comes back as %v, %v", k, back, err)
		}
	}
	var k AlarmKind
	if err := k.UnmarshalText([]byte("loss")); err == nil {
		t.Error("a text that is no kind is taken")
	}
}

package evaluate

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/report"
)

// gainSet is a set of n records whose propensities tell of the class, in ties of the given coarseness (0 = none).
func gainSet(t *testing.T, n int, coarse float64, weighted bool, classes int) *Set {
	t.Helper()
	s := NewSet(classes)
	for i := range n {
		h := model.Hash(11, uint64(i))
		p := float64(h>>11) / (1 << 53)
		p *= p
		told := p
		if coarse > 0 {
			p = math.Round(p/coarse) * coarse
		}
		ps := make([]float64, classes)
		ps[0] = p
		for c := 1; c < classes; c++ {
			ps[c] = (1 - p) / float64(classes-1)
		}
		class := int32(0)
		if float64(model.Hash(12, uint64(i))>>11)/(1<<53) > told {
			class = int32(1 + model.Hash(13, uint64(i))%uint64(classes-1))
		}
		w := 1.0
		if weighted {
			w = float64(model.Hash(14, uint64(i)) % 4)
		}
		if err := s.Add(int64(i), ps, class, w); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// slowGini is sum over pairs of positives and negatives w w' sign(s - s') / sum w w'.
func slowGini(s *Set, c int) float64 {
	var sum, all float64
	for i := range s.Class {
		for j := range s.Class {
			if int(s.Class[i]) != c || int(s.Class[j]) == c {
				continue
			}
			w := s.Weight[i] * s.Weight[j]
			all += w
			switch a, b := s.P[i*s.Classes+c], s.P[j*s.Classes+c]; {
			case a > b:
				sum += w
			case a < b:
				sum -= w
			}
		}
	}
	return sum / all
}

// slowTop is the expected weight of positives when records of the total weight want are taken, the highest scores first
// and ties at random: each record by the share of it that is in.
func slowTop(s *Set, c int, want float64) (pos float64) {
	for i := range s.Class {
		var above, tied float64
		for j := range s.Class {
			switch a, b := s.P[j*s.Classes+c], s.P[i*s.Classes+c]; {
			case a > b:
				above += s.Weight[j]
			case a == b:
				tied += s.Weight[j]
			}
		}
		if int(s.Class[i]) == c && s.Weight[i] > 0 {
			pos += s.Weight[i] * min(1, max(0, (want-above)/tied))
		}
	}
	return pos
}

// resampled repeats the records of each drawn block, one after the other.
func resampled(s *Set, seed, replicate uint64) *Set {
	var starts []int
	n := blockLength(s.Len())
	for i := range s.Class {
		if i%n == 0 && (len(starts) == 0 || s.Len()-i >= (n+1)/2) {
			starts = append(starts, i)
		}
	}
	starts = append(starts, s.Len())
	out := NewSet(s.Classes)
	for k := range uint64(len(starts) - 1) {
		j, _ := bits.Mul64(mix(mix(seed+mix(replicate))+k), uint64(len(starts)-1))
		for i := starts[j]; i < starts[j+1]; i++ {
			out.P = append(out.P, s.P[i*s.Classes:(i+1)*s.Classes]...)
			out.Class, out.Weight = append(out.Class, s.Class[i]), append(out.Weight, s.Weight[i])
		}
	}
	return out
}

func sizeOf(s *Set, c int) (all, pos float64) {
	for i, w := range s.Weight {
		all += w
		if int(s.Class[i]) == c {
			pos += w
		}
	}
	return all, pos
}

// TestGiniIsTwiceTheAUCLessOne: on ties and weights too, against all pairs.
func TestGiniIsTwiceTheAUCLessOne(t *testing.T) {
	for _, coarse := range []float64{0, .01, .25, 2} {
		for _, weighted := range []bool{false, true} {
			s := gainSet(t, 400, coarse, weighted, 2)
			m := s.Metrics(0, 1)
			if want := slowGini(s, 0); math.Abs(float64(m.Gini)-want) > 1e-12 || m.Gini != 2*m.AUC-1 {
				t.Errorf("ties of %v, weighted %v: Gini %v, AUC %v, pairs say %v", coarse, weighted, m.Gini, m.AUC, want)
			}
		}
	}
}

// TestGainsAgainstASlowProgram resamples records one by one and looks at all pairs of them.
func TestGainsAgainstASlowProgram(t *testing.T) {
	const seed, replicates = 7, 40
	v := Value{Hit: 40, Contact: 12}
	for _, c := range []struct {
		coarse   float64
		weighted bool
	}{{0, false}, {.1, false}, {.1, true}, {2, false}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := gainSet(t, 260, c.coarse, c.weighted, 2)
			r := descend(s, 0)
			times, fast := make([]float64, r.blocks), &curve{}
			for rep := range uint64(replicates) {
				r.draw(times, seed, rep)
				fast.at(r, times)
				slow := resampled(s, seed, rep)
				n, pos := sizeOf(slow, 0)
				if gotN, gotPos := fast.total(); gotN != n || gotPos != pos {
					t.Fatalf("replicate %d: %v records and %v positives, want %v and %v", rep, gotN, gotPos, n, pos)
				}
				if want := slowGini(slow, 0); math.Abs(2*fast.auc-1-want) > 1e-12 {
					t.Fatalf("replicate %d: Gini %v, want %v", rep, 2*fast.auc-1, want)
				}
				at := 0
				for _, share := range []float64{.05, .1, .5, .95, 1} {
					var got float64
					got, at = fast.top(share*n, at)
					if want := slowTop(slow, 0, share*n); math.Abs(got-want) > 1e-9 {
						t.Fatalf("replicate %d: %v positives in the top %v, want %v", rep, got, share, want)
					}
				}
				var paidN, paidPos float64
				for i, w := range slow.Weight {
					if slow.P[i*2]*v.Hit >= v.Contact {
						paidN += w
						if slow.Class[i] == 0 {
							paidPos += w
						}
					}
				}
				if gotN, gotPos := fast.first(r.paying(v)); math.Abs(gotN-paidN) > 1e-9 || math.Abs(gotPos-paidPos) > 1e-9 {
					t.Fatalf("replicate %d: %v and %v pay, want %v and %v", rep, gotN, gotPos, paidN, paidPos)
				}
			}
		})
	}
}

// TestIntervalsOfGains: the percentiles of the figures of the slow resamples, and around them what the two of Wilson
// have in common.
func TestIntervalsOfGains(t *testing.T) {
	s := gainSet(t, 100, .1, false, 2)
	v := Value{Hit: 40, Contact: 12}
	gains := s.Gains(0)
	p, ofGains := gainsIntervals(s, gains, 0, v, 3)
	var lift, capture, profit, gini []float64
	for rep := range uint64(resamples(s.Len())) {
		slow := resampled(s, 3, rep)
		n, pos := sizeOf(slow, 0)
		want := math.Floor(gains[3].Share*n + 1e-9)
		hits := slowTop(slow, 0, want)
		lift, capture = append(lift, hits/want*n/pos), append(capture, hits/pos)
		profit = append(profit, (40*hits-12*want)/n*100)
		gini = append(gini, slowGini(slow, 0))
	}
	n, pos := sizeOf(s, 0)
	size, hits := float64(gains[3].N), float64(gains[3].Positives)
	low, high := report.Wilson(hits/pos, pos)
	l, h := report.Wilson(hits/size, size)
	low, high = max(low, l*size/pos), min(high, h*size/pos)
	for name, c := range map[string]struct {
		got  Interval
		want []float64
		also [2]float64
	}{"lift": {gains[3].LiftInterval, lift, [2]float64{low * n / size, high * n / size}},
		"capture":           {gains[3].CaptureInterval, capture, [2]float64{low, high}},
		"profit":            {*gains[3].ProfitInterval, profit, [2]float64{40*low*pos - 12*size, 40*high*pos - 12*size}},
		"gini":              {s.Metrics(0, 3).GiniInterval, gini, [2]float64{1, -1}},
		"gini of the gains": {ofGains, gini, [2]float64{1, -1}}} {
		slices.Sort(c.want)
		for k, q := range []float64{.025, .975} {
			want := quantile(c.want, q)
			if k == 0 && c.also[k] < want || k == 1 && c.also[k] > want {
				want = c.also[k]
			}
			if math.Abs(float64(c.got[k])-want) > 1e-9 {
				t.Errorf("%s: %v, want %v at %v", name, c.got, want, q)
			}
		}
	}
	if got, want := float64(*gains[3].Profit), 40*float64(gains[3].Positives)-12*float64(gains[3].N); got != want {
		t.Errorf("profit %v, want %v", got, want)
	}
	best, share := 0.0, 0.0
	for i := range s.Class {
		var n, hits float64
		for j := range s.Class {
			if s.P[j*2] >= s.P[i*2] {
				n++
				if s.Class[j] == 0 {
					hits++
				}
			}
		}
		if 40*hits-12*n > best {
			best, share = 40*hits-12*n, n/100
		}
	}
	if math.Abs(float64(p.BestProfit)-best) > 1e-9 || math.Abs(float64(p.Best)-share) > 1e-12 {
		t.Errorf("best %v at %v, want %v at %v", p.BestProfit, p.Best, best, share)
	}
	if p.PayingProfit > p.BestProfit || !(p.PayingInterval[0] <= p.PayingProfit && p.PayingProfit <= p.PayingInterval[1]) {
		t.Errorf("%+v", p)
	}
}

// TestGainsOfNoise: propensities that tell nothing have a Gini of 0 and a lift of 1 inside their intervals.
func TestGainsOfNoise(t *testing.T) {
	inside := 0
	const sets = 20
	for k := range uint64(sets) {
		s := NewSet(2)
		for i := range 1000 {
			p := float64(model.Hash(100+k, uint64(i))>>11) / (1 << 53)
			if err := s.Add(int64(i), []float64{1 - p, p}, int32(model.Hash(200+k, uint64(i))%2), 1); err != nil {
				t.Fatal(err)
			}
		}
		gains := s.Gains(1)
		gainsIntervals(s, gains, 1, Value{}, 1)
		if in := s.Metrics(1, 1).GiniInterval; in[0] <= 0 && in[1] >= 0 {
			inside++
		}
		if gains[1].Profit != nil || gains[1].LiftInterval[0] > 1.2 || gains[1].LiftInterval[1] < .8 {
			t.Errorf("stream %d: %+v", k, gains[1])
		}
	}
	if inside < sets-4 { // 95 %: fewer than 16 of 20 in one run of 3,000
		t.Errorf("0 lies in %d of %d intervals", inside, sets)
	}
}

// TestGainsOfFewPositives: of noise at a rate of 1 % the lift of 1 lies in its interval, also where the best records
// have no positive among them, which blocks without one cannot know.
func TestGainsOfFewPositives(t *testing.T) {
	const sets = 60
	inside, none := 0, 0
	for k := range uint64(sets) {
		s := NewSet(2)
		for i := range 1500 {
			p, y := float64(model.Hash(300+k, uint64(i))>>11)/(1<<53), int32(0)
			if model.Hash(400+k, uint64(i))%100 == 0 {
				y = 1
			}
			if err := s.Add(int64(i), []float64{1 - p, p}, y, 1); err != nil {
				t.Fatal(err)
			}
		}
		gains := s.Gains(1)
		gainsIntervals(s, gains, 1, Value{Hit: 100, Contact: 1}, 1) // which pays nothing, nor costs, at a lift of 1
		g, last := gains[0], gains[len(gains)-1]
		if in := g.LiftInterval; in[0] <= 1 && in[1] >= 1 {
			inside++
		}
		if g.Positives == 0 {
			none++
		}
		if !(g.LiftInterval[0] < g.LiftInterval[1] && g.CaptureInterval[0] < g.CaptureInterval[1] &&
			(*g.ProfitInterval)[0] < (*g.ProfitInterval)[1]) {
			t.Errorf("stream %d: %+v", k, g)
		}
		if last.Share == 1 && last.CaptureInterval != (Interval{1, 1}) {
			t.Errorf("stream %d: of all records %+v", k, last)
		}
	}
	if inside < sets-8 || none < 10 { // 95 %: fewer than 52 of 60 in one run of 200
		t.Errorf("1 lies in %d of %d intervals, %d of no positives", inside, sets, none)
	}
}

// TestGainsOfAllRecords: of all records the capture is known, also where the sum of the weights is rounded.
func TestGainsOfAllRecords(t *testing.T) {
	for k := range uint64(20) {
		s := NewSet(2)
		for i := range 40 {
			p := float64(model.Hash(k, uint64(i))>>11) / (1 << 53)
			if err := s.Add(int64(i), []float64{1 - p, p}, int32(model.Hash(k, uint64(i), 1)%2), .1); err != nil {
				t.Fatal(err)
			}
		}
		gains := s.Gains(1)
		gainsIntervals(s, gains, 1, Value{}, 1)
		last := gains[len(gains)-1]
		for _, v := range append(last.CaptureInterval[:], last.LiftInterval[:]...) {
			if last.Share != 1 || math.Abs(float64(v)-1) > 1e-9 {
				t.Errorf("set %d: of all records %v and %v", k, last.CaptureInterval, last.LiftInterval)
			}
		}
	}
}

// TestGainsOfLittle: one class, no weight, one record, and several classes without a positive one.
func TestGainsOfLittle(t *testing.T) {
	nan := func(i Interval) bool { return math.IsNaN(float64(i[0])) && math.IsNaN(float64(i[1])) }
	one := NewSet(2)
	for i := range 200 {
		_ = one.Add(int64(i), []float64{.5, .5}, 0, 1)
	}
	m := one.Metrics(1, 1)
	gains := one.Gains(1)
	p, _ := gainsIntervals(one, gains, 1, Value{Hit: 2, Contact: 1}, 1)
	if !math.IsNaN(float64(m.Gini)) || !nan(m.GiniInterval) || !nan(gains[0].LiftInterval) ||
		p.BestProfit != 0 || p.Best != 0 || p.PayingProfit != -200 || p.Paying != 1 || p.All != -200 {
		t.Errorf("one class: %v %v %+v %+v", m.Gini, m.GiniInterval, gains[0], p)
	}
	weightless := NewSet(2)
	for i := range 200 {
		_ = weightless.Add(int64(i), []float64{.5, .5}, int32(i%2), 0)
	}
	gains = weightless.Gains(1)
	gainsIntervals(weightless, gains, 1, Value{Hit: 2, Contact: 1}, 1)
	if !nan(weightless.Metrics(1, 1).GiniInterval) || !nan(gains[0].LiftInterval) {
		t.Errorf("no weight: %+v", gains[0])
	}
	single := NewSet(2)
	_ = single.Add(0, []float64{.5, .5}, 1, 1)
	if in := single.Metrics(1, 1).GiniInterval; !nan(in) {
		t.Errorf("one record: %v", in)
	}
	three := gainSet(t, 600, .05, false, 3)
	if m := three.Metrics(-1, 1); nan(m.GiniInterval) || m.Gini != 2*m.AUC-1 ||
		!(m.GiniInterval[0] < m.Gini && m.Gini < m.GiniInterval[1]) || len(three.Gains(-1)) != 0 {
		t.Errorf("three classes: %v %v", m.Gini, m.GiniInterval)
	}
}

// TestLinearGini: the derivatives are those of the AUC by small changes of the weights, and the interval is as wide as
// that of the resamples.
func TestLinearGini(t *testing.T) {
	s := gainSet(t, 3000, .05, true, 4)
	r := descend(s, 2)
	by, times, k := make([]float64, r.blocks), make([]float64, r.blocks), &curve{}
	auc := r.derivatives(by)
	for b := range by {
		for i := range times {
			times[i] = 1
		}
		times[b] += 1e-6
		if k.at(r, times); math.Abs((k.auc-auc)/1e-6-by[b]) > 1e-5 {
			t.Errorf("block %d: derivative %v, want %v", b, by[b], (k.auc-auc)/1e-6)
		}
	}
	got, want := linearGini(s, 3), giniInterval(s, -1, 3)
	for i := range got {
		if width := float64(want[1] - want[0]); math.Abs(float64(got[i]-want[i])) > .05*width {
			t.Errorf("end %d: %v, want %v", i, got, want)
		}
	}
}

// TestGiniOfManyClasses: the work of the interval of many classes is bounded: a resample visits no record again.
func TestGiniOfManyClasses(t *testing.T) {
	s := gainSet(t, 2000, 0, false, 1000)
	if got, want := s.Metrics(-1, 1).GiniInterval, linearGini(s, 1); got != want || math.IsNaN(float64(got[0])) {
		t.Errorf("interval %v, want %v", got, want)
	}
	empty := NewSet(1000)
	if in := empty.Metrics(-1, 1).GiniInterval; !math.IsNaN(float64(in[0])) {
		t.Errorf("no records: %v", in)
	}
}

// TestLinearGiniKeepsItsBounds: of scores that are all but perfect no resample is better than perfect, and of those
// that are all but reversed none is worse.
func TestLinearGiniKeepsItsBounds(t *testing.T) {
	const classes = 20
	for _, sign := range []float64{1, -1} {
		s := NewSet(classes)
		for i := range 200 {
			c := i % classes
			p := make([]float64, classes)
			for k := range p {
				p[k] = .5
			}
			p[c] += .3 * sign
			if i < classes && c == 0 {
				p[c] -= .6 * sign
			}
			_ = s.Add(int64(i), p, int32(c), 1)
		}
		if in := linearGini(s, 1); math.IsNaN(float64(in[0])) || !(in[0] >= -1 && in[1] <= 1) {
			t.Errorf("sign %v: interval %v of a Gini of %v", sign, in, s.Metrics(-1, 1).Gini)
		}
	}
}

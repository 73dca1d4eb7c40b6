package model

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactly is the share of scores below p, those equal to it counted by half.
func exactly(window []float64, p float64) float64 {
	var below, same float64
	for _, v := range window {
		switch {
		case v < p:
			below++
		case v == p:
			same++
		}
	}
	return (below + same/2) / max(float64(len(window)), 1)
}

// TestPercentilesAreWithinHalfAPercentOfTheRank among the same scores, also where they are nearly the same, as on
// noise, where many are equal, after their level has changed, and after a restart.
func TestPercentilesAreWithinHalfAPercentOfTheRank(t *testing.T) {
	normal := func(i int) float64 {
		u, v := float64(Hash(8, uint64(i))>>11)/(1<<53), float64(Hash(9, uint64(i))>>11)/(1<<53)
		return math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
	}
	for name, of := range map[string]func(i int) float64{
		"broad":            func(i int) float64 { return -2 + 1.5*normal(i) },
		"noise":            func(i int) float64 { return -2 + .02*normal(i) },
		"steady noise":     func(i int) float64 { return -2 + .003*normal(i) },
		"seven values":     func(i int) float64 { return -3 + .7*float64(Hash(6, uint64(i))%7) },
		"near ties":        func(i int) float64 { return -1 + .001*float64(Hash(6, uint64(i))%5) },
		"drift":            func(i int) float64 { return -2 + float64(i)/12_000 + .05*normal(i) },
		"change of levels": func(i int) float64 { return -2 + float64(i/6000) + .02*normal(i) },
	} {
		q := newPercentile()
		var window []float64
		worst := 0.
		for i := range 12_000 {
			p := 1 / (1 + math.Exp(-of(i)))
			if i == 9000 {
				restart(t, &q)
			}
			got := float64(q.rank(1, p))
			if i > 200 && i%97 == 0 {
				worst = max(worst, math.Abs(got-exactly(window, p)))
			}
			window = append(window, p)
		}
		t.Logf("%s: %.4f", name, worst)
		if worst > .005 {
			t.Errorf("%s: a percentile is %.4f off the rank", name, worst)
		}
	}
}

// TestPercentilesOfNoiseOverPartitions: among the scores of others, which a model brings, too.
func TestPercentilesOfNoiseOverPartitions(t *testing.T) {
	var parts []*Partition
	var window []float64
	at := func(i int) float64 { return 1 / (1 + math.Exp(2+.04*(float64(Hash(8, uint64(i))>>11)/(1<<53)-.5))) }
	for n := range 3 {
		p := &Partition{self: int32(n), percent: newPercentile(), seen: 3000}
		for i := range 3000 {
			p.percent.rank(1, at(3000*n+i))
			window = append(window, at(3000*n+i))
		}
		parts = append(parts, p)
	}
	part, fine, err := readPercentileParts(modelOf(members(parts...)), 2)
	if err != nil {
		t.Fatal(err)
	}
	q := &parts[0].percent
	q.rebase(part, fine, 0)
	q.held = true
	for i := range 50 {
		if got, want := float64(q.rank(1, at(9000+i))), exactly(window, at(9000+i)); math.Abs(got-want) > .005 {
			t.Errorf("score %d: percentile %.4f, its rank is %.4f", i, got, want)
		}
	}
}

// TestStepsOfABucketAreCounted: a bucket has the steps that were added and not dropped, few or many, also where it goes
// from a list to counts and back. Many need no more room than their counts.
func TestStepsOfABucketAreCounted(t *testing.T) {
	var s steps
	var want [fineSteps]int32
	var in []uint8
	for i := range 6 * mostFew {
		h := Hash(4, uint64(i))
		if grows := i < 2*mostFew || i > 5*mostFew; grows || len(in) == 0 {
			v := uint8(h % 60 * 4)
			if h>>40%4 == 0 {
				v = fineSteps - 1 - uint8(h%3) // the last ones, beside each other
			}
			s.add(v)
			want[v]++
			in = append(in, v)
		} else {
			k := int(h % uint64(len(in)))
			s.drop(in[k])
			want[in[k]]--
			in[k] = in[len(in)-1]
			in = in[:len(in)-1]
		}
		for _, v := range []uint8{uint8(h >> 8), fineSteps - 1 - uint8(h>>16%4)} {
			var below int32
			for _, n := range want[:v] {
				below += n
			}
			if got, same := s.below(v); got != below || same != want[v] {
				t.Fatalf("step %d of %d: %d below and %d equal, want %d and %d", v, len(in), got, same, below, want[v])
			}
		}
		if len(s.few) >= mostFew {
			t.Fatalf("%d steps lie in a list", len(s.few))
		}
	}
}

// TestHostileStepsOfPercentiles: a section of another length or format is an error, and one that is not there is none.
func TestHostileStepsOfPercentiles(t *testing.T) {
	q := newPercentile()
	for i := range 5 {
		q.rank(score(i, 0))
	}
	for k, c := range []struct {
		b  []byte
		ok bool
	}{{q.appendFine(nil), true}, {nil, true}, {[]byte{1, 2, 3}, false}, {[]byte{2, 1, 2, 3, 4, 5}, false},
		{[]byte{1, 1, 2, 3, 4, 5, 6}, false}, {[]byte{1, 255, 0, 3, 0, 0}, true}} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			read := func(_ string, use func(b []byte) error) error { return use(c.b) }
			if err := q.loadFine(read); (err == nil) != c.ok {
				t.Error(err)
			}
		})
	}
}

// TestGoldenSteps reads a section of format 1, and writes it again.
func TestGoldenSteps(t *testing.T) {
	golden := []byte{1, 7, 250, 128, 3, 9}
	q := newPercentile()
	q.set([]scored{{5, 1, 0}, {6, 0, 0}, {5, 1, 0}}, 10, map[int32][]bucket{1: {{5, 2}}}, map[int32][]uint8{1: {0, 0}})
	if err := q.loadFine(func(_ string, use func(b []byte) error) error { return use(golden) }); err != nil {
		t.Fatal(err)
	}
	if got := q.appendFine(nil); !bytes.Equal(got, golden) {
		t.Errorf("written as %v", got)
	}
	if below, same := q.of(1).fine[5].below(9); below != 2 || same != 1 {
		t.Errorf("steps %v", q.of(1).fine[5])
	}
}

// TestStepsBelow: the search without branches finds the place that a binary search finds, of every length and step.
func TestStepsBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2))
	for n := range 70 {
		few := make([]uint8, n)
		for i := range few {
			few[i] = uint8(r.IntN(min(1+n*4, fineSteps)))
		}
		slices.Sort(few)
		s := steps{few: few}
		for fine := range fineSteps {
			want, _ := slices.BinarySearch(few, uint8(fine))
			if got := stepsBelow(few, uint8(fine)); got != want {
				t.Fatalf("%d steps of %v below %d, want %d", got, few, fine, want)
			}
			same := 0
			for _, x := range few {
				if int(x) == fine {
					same++
				}
			}
			if lo, n := s.below(uint8(fine)); int(lo) != want || int(n) != same {
				t.Fatalf("%d below %d and %d there of %v, want %d and %d", lo, fine, n, few, want, same)
			}
		}
	}
}

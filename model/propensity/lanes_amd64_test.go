package propensity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainly calls f without lanes.
func plainly(f func()) {
	was, also := lanes, fused
	lanes, fused = false, false
	defer func() { lanes, fused = was, also }()
	f()
}

// sameBits returns the first place of two lists with different bits, -1 where there is none. Any NaN is the same.
func sameBits(a, b []float64) int {
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return i
		}
	}
	return -1
}

// odd has the ends of the range of a double.
var odd = []float64{0, math.Copysign(0, -1), 1, -1, math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat64,
	math.Inf(1), math.Inf(-1), math.NaN(), 1 - 0x1p-53, 1 + 0x1p-52, 0x1p-1023, 2, .5}

// TestLanesHaveThePlainBits: four numbers at once are the same numbers, bit for bit, for all lengths, with numbers that
// no logarithm has among them.
func TestLanesHaveThePlainBits(t *testing.T) {
	if !lanes {
		t.Skip("SKIPPED, NOT CHECKED: the processor has no AVX2")
	}
	r := rand.New(rand.NewPCG(7, 1))
	number := func() float64 {
		if r.IntN(20) == 0 {
			return odd[r.IntN(len(odd))]
		}
		return math.Exp(r.NormFloat64() * 20)
	}
	numbers := func(n int, of func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = of()
		}
		return v
	}
	for round := range 4000 {
		n := r.IntN(23)
		x := numbers(n, number)
		got, want := append([]float64(nil), x...), append([]float64(nil), x...)
		logs(got)
		plainly(func() { logs(want) })
		if i := sameBits(got, want); i >= 0 {
			t.Fatalf("round %d: ln(%v) = %v, want %v", round, x[i], got[i], want[i])
		}

		cell, base, times := numbers(2*n+3, r.ExpFloat64), numbers(2*n, r.Float64), numbers(2*n, r.ExpFloat64)
		for i := 0; i < len(times); i += 2 {
			times[i] = 1
		}
		var side []float64
		if round%2 == 0 {
			side = numbers(2*n+1, r.ExpFloat64)
		}
		got, want = make([]float64, n), make([]float64, n)
		part := r.Float64()
		ratios(got, cell, side, part, base, times)
		plainly(func() { ratios(want, cell, side, part, base, times) })
		if i := sameBits(got, want); i >= 0 {
			t.Fatalf("round %d, horizon %d of %d: ratio %v, want %v", round, i, n, got[i], want[i])
		}

		w := make([]pair, n)
		using, masks := make([]int, n), make([][cards]uint64, n)
		for i := range w {
			copy(w[i].w[:], numbers(cards, r.NormFloat64))
			copy(w[i].g[:], numbers(cards, func() float64 { return 1 + r.ExpFloat64() }))
			using[i] = 2 + r.IntN(cards-1)
			masks[i] = maskOf(using[i])
		}
		x = numbers(n, r.NormFloat64)
		var z [cards]float64
		copy(z[:], numbers(cards, r.NormFloat64))
		plain := z
		addAll(&z, w, x)
		plainly(func() { addAll(&plain, w, x) })
		if i := sameBits(z[:], plain[:]); i >= 0 {
			t.Fatalf("round %d: sum %v of card %d, want %v", round, z[i], i, plain[i])
		}

		var here, there, line pair
		for _, p := range []*pair{&here, &there, &line} {
			copy(p.w[:], numbers(cards, r.NormFloat64))
		}
		beside := &there
		if round%3 == 0 {
			beside = nil
		}
		plain = z
		addFeature(&z, w, x, &here, beside, part)
		plainly(func() { addFeature(&plain, w, x, &here, beside, part) })
		if i := sameBits(z[:], plain[:]); i >= 0 {
			t.Fatalf("round %d: margin %v of card %d with a feature, want %v", round, z[i], i, plain[i])
		}
		of, by := &here, &line
		switch round % 5 {
		case 0:
			of = nil
		case 1:
			by = nil
		}
		u := r.NormFloat64()
		effect := func() float64 { return featureEffect(&plain, w, x, of, beside, part, by, u) }
		got, want = append(got[:0], effect()), want[:0]
		plainly(func() { want = append(want, effect()) })
		if sameBits(got, want) >= 0 {
			t.Fatalf("round %d: effect %v, want %v", round, got[0], want[0])
		}

		got = numbers(n, func() float64 {
			if r.IntN(20) == 0 {
				return odd[r.IntN(len(odd))]
			}
			return r.NormFloat64() * 12
		})
		want = append([]float64(nil), got...)
		raw := append([]float64(nil), got...)
		sigmoids(got)
		plainly(func() { sigmoids(want) })
		if i := sameBits(got, want); i >= 0 {
			t.Fatalf("round %d: sigmoid of %v is %v, want %v", round, raw[i], got[i], want[i])
		}

		for i := range got {
			got[i] = raw[i] * 40
		}
		copy(want, got)
		exponentials(got)
		plainly(func() { exponentials(want) })
		if i := sameBits(got, want); i >= 0 {
			t.Fatalf("round %d: exponential of %v is %v, want %v", round, raw[i]*40, got[i], want[i])
		}

		edges := numbers(n, func() float64 { return float64(r.IntN(12)) })
		slices.Sort(edges)
		v := float64(r.IntN(14)-1) + float64(r.IntN(2))/2
		found := below(edges, v)
		plainly(func() {
			if want := below(edges, v); found != want {
				t.Fatalf("round %d: %d of %v below %v, want %d", round, found, edges, v, want)
			}
		})

		var sq, step [cards]float64
		copy(sq[:], numbers(cards, r.ExpFloat64))
		copy(step[:], numbers(cards, r.NormFloat64))
		slow := append([]pair(nil), w...)
		descendAll(w, x, using, masks, &sq, &step)
		plainly(func() { descendAll(slow, x, using, masks, &sq, &step) })
		if n > 0 {
			descendOne(&w[0], x[n-1], &sq, &step)
			plainly(func() { descendOne(&slow[0], x[n-1], &sq, &step) })
		}
		for i := range w {
			if sameBits(w[i].w[:], slow[i].w[:]) >= 0 || sameBits(w[i].g[:], slow[i].g[:]) >= 0 {
				t.Fatalf("round %d: weight %d used by %d is %v, want %v", round, i, using[i], w[i], slow[i])
			}
		}
	}
}

package lift

import (
	"math"
	"slices"
	"testing"
)

// TestChunksAreThePlainOnes: each step on a chunk gives the bits of its plain form, of numbers of any kind, and writes
// nothing behind the chunk.
func TestChunksAreThePlainOnes(t *testing.T) {
	h := uint64(7)
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, -1e308, 1e308, 1e9,
		-1e9, 1 << 31, -1 << 31, 1023.999, 1024}
	numbers := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			h = mix(h)
			if v[i] = float64(h>>11)/(1<<53)*1500 - 200; h&7 == 0 {
				v[i] = special[h>>8&15]
			}
		}
		return v
	}
	for n := latticePad; n <= latticeChunk; n += latticePad {
		r, up, factor := numbers(n), numbers(n), numbers(4)
		z, d := numbers(n+1), numbers(n+1)
		wantZ, wantD := slices.Clone(z), slices.Clone(d)
		standardise(z[:n], d[:n], up, r, factor[0])
		standardisePlain(wantZ[:n], wantD[:n], up, r, factor[0])
		sameBits(t, "z", z, wantZ)
		sameBits(t, "d", d, wantD)
		project(d[:n], up, z[:n], factor[1])
		projectPlain(wantD[:n], up, wantZ[:n], factor[1])
		sameBits(t, "residual", d, wantD)

		bins, want := make([]int16, n+1), make([]int16, n+1)
		binsOf(bins[:n], r, 1, 0)
		binsOfPlain(want[:n], r, 1, 0)
		if !slices.Equal(bins, want) {
			t.Fatalf("bins of %v: %v, want %v", r, bins, want)
		}
		binsOf(bins[:n], up, factor[2], factor[3])
		binsOfPlain(want[:n], up, factor[2], factor[3])
		if !slices.Equal(bins, want) {
			t.Fatalf("bins of %v by %v: %v, want %v", up, factor[2:], bins, want)
		}

		binsOf(bins[:n], r, 1, 0)
		for i := n - int(h>>20)%latticePad; i < n; i++ {
			bins[i] = -1
		}
		marks, wantMarks := make([]int16, n+1), make([]int16, n+1)
		for _, e := range []band{{1, 1}, {200, 299}, {301, 301}, {900, latticeGrid - 2}} {
			from, beyond := countBand(marks[:n], bins[:n], e)
			wantFrom, wantBeyond := countBandPlain(wantMarks[:n], bins[:n], e)
			if from != wantFrom || beyond != wantBeyond || !slices.Equal(marks, wantMarks) {
				t.Fatalf("%d bins by %v: %d and %d, want %d and %d", n, e, from, beyond, wantFrom, wantBeyond)
			}
		}
		words, wantWords := make([]uint32, n/latticePad+1), make([]uint32, n/latticePad+1)
		markWords(words[:n/latticePad], marks)
		markWordsPlain(wantWords[:n/latticePad], wantMarks)
		if !slices.Equal(words, wantWords) {
			t.Fatalf("words of %v: %x, want %x", marks, words, wantWords)
		}
	}
}

// sameBits compares numbers bit by bit, any NaN being equal to any other.
func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i, v := range got {
		if math.Float64bits(v) != math.Float64bits(want[i]) && !(v != v && want[i] != want[i]) {
			t.Fatalf("%s %d of %d: %v, want %v", what, i, len(got), v, want[i])
		}
	}
}

// TestPlainChunks: the plain forms by hand.
func TestPlainChunks(t *testing.T) {
	bins := make([]int16, 6)
	binsOfPlain(bins, []float64{-5, 0, 2.5, 511.75, 9999, math.NaN()}, 2, .5)
	if want := []int16{0, 0, 5, 1023, 1023, 0}; !slices.Equal(bins, want) {
		t.Errorf("bins %v, want %v", bins, want)
	}
	marks := make([]int16, 6)
	from, beyond := countBandPlain(marks, []int16{-1, 3, 4, 6, 7, 4}, band{4, 6})
	if want := []int16{0, 0, -1, -1, 0, -1}; from != 4 || beyond != 1 || !slices.Equal(marks, want) {
		t.Errorf("%d from the band on, %d beyond, marks %v, want 4, 1, %v", from, beyond, marks, want)
	}
	marks = make([]int16, 2*latticePad)
	marks[0], marks[33], marks[63] = -1, -1, -1
	words := make([]uint32, 2)
	if markWordsPlain(words, marks); words[0] != 1 || words[1] != 1<<1|1<<31 {
		t.Errorf("words %x", words)
	}
	z, d := make([]float64, 2), make([]float64, 2)
	standardisePlain(z, d, []float64{1, 2}, []float64{3, -4}, .5)
	if !slices.Equal(z, []float64{1.5, -2}) || !slices.Equal(d, []float64{3.25, 6}) {
		t.Errorf("z %v, d %v", z, d)
	}
	if projectPlain(d, []float64{1, 2}, z, 2); !slices.Equal(d, []float64{-2, 6}) {
		t.Errorf("residuals %v", d)
	}
}

// TestOnesOfIsThePlainOne: the records in both of two bitmaps, of every length around the blocks.
func TestOnesOfIsThePlainOne(t *testing.T) {
	h := uint64(3)
	for n := range 70 {
		a, b := make([]uint64, n), make([]uint64, n+1)
		for i := range a {
			h = mix(h)
			a[i] = h
			h = mix(h)
			b[i] = h
			if i%5 == 0 {
				a[i], b[i] = math.MaxUint64, math.MaxUint64
			}
		}
		want := 0
		for i := range 64 * n {
			want += int(a[i/64] & b[i/64] >> (i % 64) & 1)
		}
		if got, plain := onesOf(a, b), onesOfPlain(a, b); got != want || plain != want {
			t.Errorf("%d words: %d, plainly %d, want %d", n, got, plain, want)
		}
	}
}

// TestMatchIsThePlainOne: bitmaps of codes, those of no record among them.
func TestMatchIsThePlainOne(t *testing.T) {
	for n := range 9 {
		codes := make([]uint8, 64*n)
		for i := range codes {
			codes[i] = uint8(mix(uint64(i)) % 4 * 85) // 0, 85, 170, 255
		}
		for _, code := range []uint8{0, 1, 85, 170, 255} {
			got, want := make([]uint64, n+1), make([]uint64, n+1)
			match(got[:n], codes, code)
			matchPlain(want[:n], codes, code)
			if !slices.Equal(got, want) {
				t.Errorf("%d words, code %d: %x, want %x", n, code, got, want)
			}
			for i, c := range codes {
				if got[i/64]>>(i%64)&1 == 1 != (c == code) {
					t.Errorf("%d words, code %d: bit %d of %x", n, code, i, got)
				}
			}
		}
	}
}

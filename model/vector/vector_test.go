package vector

import (
	"math"
	"testing"
)

// numbers makes n numbers of very different sizes, so that the order of a sum shows in its bits.
func numbers(n int, seed uint64) []float64 {
	v := make([]float64, n)
	for i := range v {
		seed = seed*6364136223846793005 + 1442695040888963407
		v[i] = math.Ldexp(float64(int64(seed))/(1<<63), int(seed>>20%40)-20)
	}
	return v
}

func same(t *testing.T, what string, n int, got, want []float64) {
	t.Helper()
	for i, v := range got {
		if math.Float64bits(v) != math.Float64bits(want[i]) {
			t.Fatalf("%s of %d, number %d: %v, want %v", what, n, i, v, want[i])
		}
	}
}

// TestSameBits: each function gives the bits of its plain form at every length, and writes nothing beside its rows.
func TestSameBits(t *testing.T) {
	for n := range 133 {
		a, b := numbers(n+1, 1), numbers(n+1, 2)
		same(t, "Dot", n, []float64{Dot(a[:n], b)}, []float64{dotPlain(a[:n], b[:n])})
		got, want := numbers(n+1, 3), numbers(n+1, 3)
		AddScaled(got[:n], -.3, b)
		addScaledPlain(want[:n], -.3, b[:n])
		same(t, "AddScaled", n, got, want)

		width := Pad(n)
		stride := width + n%3
		for rows := range 10 {
			a, x := numbers(rows*stride+1, 4), numbers(width, 5)
			got, want := numbers(rows+1, 6), numbers(rows+1, 6)
			Product(got[:rows], a, stride, x)
			productPlain(want[:rows], a, stride, x)
			same(t, "Product", n, got, want)
			if width == 0 {
				continue
			}
			a, w, c := numbers(rows*width+1, 7), numbers(rows, 8), numbers(width, 9)
			square, along := numbers(rows+1, 10), numbers(rows+1, 11)
			wantA, wantSquare, wantAlong := numbers(rows*width+1, 7), numbers(rows+1, 10), numbers(rows+1, 11)
			Update(a[:rows*width], w, c, x, square[:rows], along[:rows])
			updatePlain(wantA[:rows*width], w, c, x, wantSquare[:rows], wantAlong[:rows])
			same(t, "Update", n, a, wantA)
			same(t, "Update, squares", n, square, wantSquare)
			same(t, "Update, along", n, along, wantAlong)
		}
	}
}

// TestPlain: the plain forms against sums in the simplest order, of whole numbers, which no order changes.
func TestPlain(t *testing.T) {
	whole := func(n int, seed uint64) []float64 {
		v := numbers(n, seed)
		for i := range v {
			v[i] = math.Round(math.Mod(v[i]*1e6, 100))
		}
		return v
	}
	sum := func(a, b []float64) (s float64) {
		for i, v := range a {
			s += v * b[i]
		}
		return s
	}
	for n := range 70 {
		a, b := whole(n, 1), whole(n, 2)
		if got, want := dotPlain(a, b), sum(a, b); got != want {
			t.Errorf("dot of %d: %v, want %v", n, got, want)
		}
		if n == 0 || n%4 != 0 {
			continue
		}
		rows, w, x := whole(3*n, 3), whole(3, 4), whole(n, 5)
		before := whole(3*n, 3)
		square, along := make([]float64, 3), make([]float64, 3)
		updatePlain(rows, w, a, x, square, along)
		for i := range w {
			row := rows[i*n : (i+1)*n]
			for k, v := range row {
				if want := before[i*n+k] - w[i]*a[k]; v != want {
					t.Errorf("row %d of %d, number %d: %v, want %v", i, n, k, v, want)
				}
			}
			if square[i] != sum(row, row) || along[i] != sum(row, x) {
				t.Errorf("row %d of %d: %v and %v, want %v and %v", i, n, square[i], along[i], sum(row, row), sum(row, x))
			}
		}
	}
}

// TestOtherShapes: rows of another shape are refused, not read beside.
func TestOtherShapes(t *testing.T) {
	for name, f := range map[string]func(){
		"width":  func() { Product(make([]float64, 2), make([]float64, 12), 6, make([]float64, 6)) },
		"few":    func() { Product(make([]float64, 2), make([]float64, 7), 4, make([]float64, 4)) },
		"stride": func() { Product(make([]float64, 1), make([]float64, 8), 4, make([]float64, 8)) },
		"update": func() {
			Update(make([]float64, 8), make([]float64, 2), make([]float64, 4), make([]float64, 8), make([]float64, 2),
				make([]float64, 2))
		},
		"short": func() { Dot(make([]float64, 2), make([]float64, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

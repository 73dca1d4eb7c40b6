// Package vector has the sums of products that the models spend their fits in. Each has a plain form and, on amd64 with
// AVX2, one of the same bits: products are rounded before they are added, and the order of each sum is fixed. So these
// sums are the same on every machine, which gonum's are not. Other steps of a fit may differ by rounding from one
// architecture to another, whose compilers join products and sums, but not with the instructions of a processor.
//
// None of the functions allocates or keeps its arguments. NaN and infinities follow the rules of IEEE 754.
package vector

// Dot returns sum_i a_i b_i, b being at least as long as a; 0 of nothing. Sixteen sums run over the whole blocks of
// sixteen, the rest goes to the first four of these in turn; S_k being the sum of every fourth of them from k on, in
// two pairs, it is (S_0 + S_2) + (S_1 + S_3).
func Dot(a, b []float64) float64 { return dot(a, b[:len(a)]) }

func dotPlain(a, b []float64) float64 {
	var s [16]float64
	i := 0
	for ; i+16 <= len(a); i += 16 {
		x, y := a[i:i+16], b[i:i+16]
		for k := range s {
			s[k] += float64(x[k] * y[k])
		}
	}
	for k := i; k < len(a); k++ {
		s[(k-i)%4] += float64(a[k] * b[k])
	}
	var t [4]float64
	for k := range t {
		t[k] = (s[k] + s[4+k]) + (s[8+k] + s[12+k])
	}
	return (t[0] + t[2]) + (t[1] + t[3])
}

// AddScaled adds w b to a, element by element, b being at least as long as a.
func AddScaled(a []float64, w float64, b []float64) { addScaled(a, w, b[:len(a)]) }

func addScaledPlain(a []float64, w float64, b []float64) {
	for i, v := range b {
		a[i] += float64(w * v)
	}
}

// Pad is the least multiple of four that is at least n: Product and Update want rows of such lengths, whose further
// entries are 0.
func Pad(n int) int { return (n + 3) &^ 3 }

// Product writes the products of the rows of a with x: out_i = a_i.x, row i being the len(x) numbers of a from i stride
// on. len(x) is a multiple of four. S_k being the sum of every fourth product from k on, it is (S_0 + S_2) + (S_1 +
// S_3).
func Product(out, a []float64, stride int, x []float64) {
	if len(out) == 0 {
		return
	}
	if len(x)%4 != 0 || len(x) > stride || len(a) < (len(out)-1)*stride+len(x) {
		panic("vector: rows of another shape")
	}
	if len(x) == 0 {
		clear(out)
		return
	}
	product(out, a, stride, x)
}

func productPlain(out, a []float64, stride int, x []float64) {
	for i := range out {
		row := a[i*stride : i*stride+len(x)]
		var s0, s1, s2, s3 float64
		for k := 0; k+4 <= len(row); k += 4 {
			u, v := row[k:k+4], x[k:k+4]
			s0 += float64(u[0] * v[0])
			s1 += float64(u[1] * v[1])
			s2 += float64(u[2] * v[2])
			s3 += float64(u[3] * v[3])
		}
		out[i] = (s0 + s2) + (s1 + s3)
	}
}

// Update takes w_i c from row i of a, rows of len(c) numbers one behind the other, and writes the squared length of
// each new row and its product with x, in the order of Product. len(c) is a multiple of four.
func Update(a, w, c, x, square, along []float64) {
	if len(w) == 0 {
		return
	}
	if len(c)%4 != 0 || len(c) == 0 || len(x) != len(c) || len(a) != len(w)*len(c) || len(square) != len(w) ||
		len(along) != len(w) {
		panic("vector: rows of another shape")
	}
	update(a, w, c, x, square, along)
}

func updatePlain(a, w, c, x, square, along []float64) {
	for i, v := range w {
		row := a[i*len(c) : (i+1)*len(c)]
		for k := range row {
			row[k] -= float64(v * c[k])
		}
		productPlain(square[i:i+1], row, len(row), row)
		productPlain(along[i:i+1], row, len(row), x)
	}
}

package vector

import "golang.org/x/sys/cpu"

//go:noescape
func dotAVX2(a, b *float64, n int) float64

//go:noescape
func addScaledAVX2(a *float64, w float64, b *float64, n int)

//go:noescape
func productAVX2(out, a, x *float64, rows, stride, n int)

//go:noescape
func updateAVX2(a, w, c, x, square, along *float64, rows, n int)

func dot(a, b []float64) float64 {
	if !cpu.X86.HasAVX2 || len(a) == 0 {
		return dotPlain(a, b)
	}
	return dotAVX2(&a[0], &b[0], len(a))
}

func addScaled(a []float64, w float64, b []float64) {
	if !cpu.X86.HasAVX2 || len(a) == 0 {
		addScaledPlain(a, w, b)
		return
	}
	addScaledAVX2(&a[0], w, &b[0], len(a))
}

func product(out, a []float64, stride int, x []float64) {
	if !cpu.X86.HasAVX2 {
		productPlain(out, a, stride, x)
		return
	}
	productAVX2(&out[0], &a[0], &x[0], len(out), stride, len(x))
}

func update(a, w, c, x, square, along []float64) {
	if !cpu.X86.HasAVX2 {
		updatePlain(a, w, c, x, square, along)
		return
	}
	updateAVX2(&a[0], &w[0], &c[0], &x[0], &square[0], &along[0], len(w), len(c))
}

//go:build !amd64

package vector

func dot(a, b []float64) float64 { return dotPlain(a, b) }

func addScaled(a []float64, w float64, b []float64) { addScaledPlain(a, w, b) }

func product(out, a []float64, stride int, x []float64) { productPlain(out, a, stride, x) }

func update(a, w, c, x, square, along []float64) { updatePlain(a, w, c, x, square, along) }

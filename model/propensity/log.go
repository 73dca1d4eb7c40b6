package propensity

import "math"

// logTable holds, for each of 128 stretches of [1, 2), the inverse of its centre and the logarithm of that centre.
var logTable = func() (t [128][2]float64) {
	for i := range t {
		inv := 1 / (1 + (float64(i)+.5)/128)
		t[i] = [2]float64{inv, -math.Log(inv)}
	}
	return
}()

// ln is the natural logarithm of a positive finite number to 1e-15 (absolute, or relative where that is more): table
// look-up of the leading seven bits, then the series of ln(1+r) for |r| < 1/256.
func ln(x float64) float64 {
	b := math.Float64bits(x)
	e := int64(b>>52) - 1023
	if uint64(e+1022) >= 2046 { // zero, subnormal, negative, infinite or NaN
		return math.Log(x)
	}
	t := &logTable[b>>45&127]
	r := math.Float64frombits(b&(1<<52-1)|1023<<52)*t[0] - 1
	q := r * r
	return (float64(e)*math.Ln2 + t[1]) + (r + q*(-.5+r*(1./3)+q*(-.25+r*.2)))
}

// sigmoid is 1/(1+exp(-z)) of z clipped to ±maxLogit.
func sigmoid(z float64) float64 {
	return 1 / (1 + math.Exp(-clip(z, maxLogit)))
}

func clip(z, m float64) float64 {
	if z > m {
		return m
	}
	if z < -m {
		return -m
	}
	return z
}

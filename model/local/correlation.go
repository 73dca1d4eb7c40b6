package local

import (
	"fmt"

	"liftstream/model/wire"
)

// correlation holds |rho_jk| of the features that have a curve, so that it grows with their square and not with that of
// all features. That of any other feature is 0.
type correlation struct {
	features []int32 // ascending
	place    []int32 // of a feature of the schema in features, -1 = not there
	r        []float32
}

// newCorrelation returns the correlations of features, ascending, of a schema that has so many, all 0 but the diagonal.
func newCorrelation(all int, features []int32) *correlation {
	c := &correlation{features: features, place: make([]int32, all), r: make([]float32, len(features)*len(features))}
	for j := range c.place {
		c.place[j] = -1
	}
	for i, j := range features {
		c.place[j] = int32(i)
		c.r[i*len(features)+i] = 1
	}
	return c
}

// row returns the correlations of feature j with features; nil of one that has none.
func (c *correlation) row(j int) []float32 {
	n := len(c.features)
	i := int(c.place[j])
	if i < 0 {
		return nil
	}
	return c.r[i*n : (i+1)*n]
}

// of is |rho_jk|.
func (c *correlation) of(j, k int) float32 {
	switch i := c.place[k]; {
	case j == k:
		return 1
	case c.place[j] < 0 || i < 0:
		return 0
	default:
		return c.row(j)[i]
	}
}

// set sets the correlation of the features at places i and k.
func (c *correlation) set(i, k int, r float32) {
	n := len(c.features)
	c.r[i*n+k], c.r[k*n+i] = r, r
}

// appendBinary appends the features and the lower half; the diagonal is 1.
func (c *correlation) appendBinary(b []byte) []byte {
	b = wire.AppendInts(b, c.features)
	n := len(c.features)
	half := make([]float64, 0, n*(n-1)/2)
	for i := range n {
		for _, r := range c.r[i*n : i*n+i] {
			half = append(half, float64(r))
		}
	}
	return appendSingles(b, half)
}

// decodeCorrelation is the inverse of appendBinary. Formats 1 and 2 have the pairs of all features.
func decodeCorrelation(r *wire.Reader, all int, format uint64) *correlation {
	var features []int32
	if format > 2 {
		features = wire.Ints[int32](r)
	} else {
		for j := range all {
			features = append(features, int32(j))
		}
	}
	half := singles(r)
	n := len(features)
	if r.Err() == nil && len(half) != n*(n-1)/2 {
		r.Fail(fmt.Errorf("%d correlations of %d features", len(half), n))
	}
	for i, j := range features {
		if j < 0 || int(j) >= all || i > 0 && j <= features[i-1] {
			r.Fail(fmt.Errorf("correlations of feature %d of %d", j, all))
		}
	}
	if r.Err() != nil {
		return newCorrelation(all, nil)
	}
	if format <= 2 {
		return fromPairs(all, half)
	}
	c := newCorrelation(all, features)
	for i := range n {
		for k := range i {
			c.set(i, k, float32(half[0]))
			half = half[1:]
		}
	}
	return c
}

// fromPairs keeps the features of which a pair is not 0.
func fromPairs(all int, half []float64) *correlation {
	some := make([]bool, all)
	at := 0
	for j := range all {
		for k := range j {
			if half[at] != 0 {
				some[j], some[k] = true, true
			}
			at++
		}
	}
	var features []int32
	for j, any := range some {
		if any {
			features = append(features, int32(j))
		}
	}
	c := newCorrelation(all, features)
	for i, j := range features {
		for k, o := range features[:i] {
			c.set(i, k, float32(half[int(j)*(int(j)-1)/2+int(o)]))
		}
	}
	return c
}

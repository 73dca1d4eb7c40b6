package lift

// Axis is one feature of a set whose cells are a product, as Cell uses it: the cell of a row is the sum over the axes
// of index times Stride. The index of a number is the number of Cuts below it; that of a code is the code, at most
// Cap-1.
type Axis struct {
	Feature int32
	Cuts    []float64 // of a continuous feature; the caller must not change them
	Cap     int32     // of a feature with levels, else 0
	Stride  int32
}

// Axes returns the axes of the set, and false where cells of several features are cut by their distance.
func (t *Set) Axes() ([]Axis, bool) {
	var out []Axis
	for i := range t.parts {
		p := &t.parts[i]
		if p.factor != nil {
			return nil, false
		}
		out = append(out, Axis{Feature: p.features[0], Cuts: p.cuts, Stride: p.stride})
	}
	for _, l := range t.levels {
		out = append(out, Axis{Feature: l.feature, Cap: l.cap, Stride: l.stride})
	}
	return out, true
}

// Entered returns the sets that feed the scorecard, in the order of their inputs; the caller must not change them.
func (c *Component) Entered() []*Entered { return c.entered }

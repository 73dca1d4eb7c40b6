package lift

// Entered is a feature set that feeds the scorecard: by cell and class what the set says beyond its features one by
// one, as log-odds that a softmax adds to those of the single features.
type Entered struct {
	Set   *Set
	Value []float64 // cells x classes; cells beyond its length say nothing
	// Fit is what takes a record out of the value of its cell again; see without. Empty in a state, and in a part of
	// format 3.
	Fit EnteredFit
}

// MaxEntered bounds the sets that feed the scorecard.
const MaxEntered = 16

// EnteredFit tells how the values of a set came about: margin by margin (one a class, of two classes that of the
// second) the Newton step -shrink sum g / D of a cell, with D the sum of the curvatures h = p (1-p) and the ridge, and
// g = p - [y].
type EnteredFit struct {
	// Unit is the weight of a record of weight 1 among the sums. Where only every k-th record was looked at it is 1/k of
	// that: no one knows which.
	Unit   float64
	Shrink float64
	Cells  []float64 // cells x margins x (D, mean p, mean h)
}

// without writes into dst what the set says of a record that its values were fitted on, had it not been there: with the
// weight w of the record, the value v of its cell and the mean p and h there,
//
//	v' = (v D + shrink w (p - [y])) / (D - w h)
//
// which depends on the class of the record in no way; p and h of the record itself, which do not either, are taken to
// be those of its cell. 0 where the set says nothing or does not know how it was fitted.
func (e *Entered) without(row []float64, class int32, weight float64, dst []float64) {
	clear(dst)
	classes, x := len(dst), e.Set.Cell(row)
	k := classes
	if k == 2 {
		k = 1
	}
	if x < 0 || (x+1)*classes > len(e.Value) || (x+1)*3*k > len(e.Fit.Cells) {
		return
	}
	w := weight * e.Fit.Unit
	for m := range k {
		at := e.Fit.Cells[3*(x*k+m) : 3*(x*k+m)+3]
		v, hit := e.Value[x*classes+m], 0.
		if k == 1 {
			v = e.Value[x*2+1] - e.Value[x*2]
		}
		if k == 1 && class == 1 || k > 1 && int(class) == m {
			hit = 1
		}
		if rest := at[0] - w*at[2]; rest > 0 {
			dst[m] = (v*at[0] + e.Fit.Shrink*w*(at[1]-hit)) / rest
		}
	}
	if k == 1 {
		dst[0], dst[1] = -dst[0]/2, dst[0]/2
	}
}

// value returns the entered values of the row's cell, nil when it says nothing.
func (e *Entered) value(row []float64, classes int) []float64 {
	x := e.Set.Cell(row)
	if x < 0 || (x+1)*classes > len(e.Value) {
		return nil
	}
	return e.Value[x*classes : (x+1)*classes]
}

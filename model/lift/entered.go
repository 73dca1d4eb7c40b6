package lift

// Entered is a feature set that feeds the scorecard. Its values are, by cell and class, the log-odds that the set adds
// to the effects of its features one by one; a softmax takes their sum.
type Entered struct {
	Set   *Set
	Value []float64 // cells x classes; cells beyond its length have none
	// Fit serves to take a record out of the value of its cell again; see without. It is empty in a state, and in a part
	// of format 3.
	Fit EnteredFit
}

// MaxEntered bounds the sets that feed the scorecard.
const MaxEntered = 16

// EnteredFit tells how the values of a set came about. The value of a cell is, for each margin (one a class; of two
// classes that of the second), the Newton step -shrink sum g / D, with D the sum of the curvatures h = p (1-p) and the
// ridge, and g = p - [y].
type EnteredFit struct {
	// Unit is the weight of a record of weight 1 among the sums. Where only every k-th record was looked at, it is that
	// over k, because the numbers of these records are not kept.
	Unit   float64
	Shrink float64
	Cells  []float64 // cells x margins x (D, mean p, mean h)
}

// without writes into dst the values that the set would have for a record of its fit if that record had not been there:
// with the weight w of the record, the value v of its cell and the mean p and h there,
//
//	v' = (v D + shrink w (p - [y])) / (D - w h)
//
// v' does not depend on the class of the record. p and h of the record itself, which do not depend on it either, are
// taken to be the means of its cell. 0 where the set has no value for the record, or no Fit.
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

// value returns the values of the row's cell, nil when it has none.
func (e *Entered) value(row []float64, classes int) []float64 {
	x := e.Set.Cell(row)
	if x < 0 || (x+1)*classes > len(e.Value) {
		return nil
	}
	return e.Value[x*classes : (x+1)*classes]
}

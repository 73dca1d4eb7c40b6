package propensity

import "golang.org/x/sys/cpu"

// lanes says that the processor computes four numbers at once.
var lanes = cpu.X86.HasAVX2

// fused says that math.Exp has the bits of sigmoidLanes and expLanes, which fuse multiplications and additions.
var fused = cpu.X86.HasAVX && cpu.X86.HasAVX2 && cpu.X86.HasFMA

// logLanes is logs of whole fours, up to the first four of which some number is not a normal positive one. It returns
// how many numbers are done.
//
//go:noescape
func logLanes(x *float64, n int, table *[128][2]float64) (done int)

// ratioLanes is ratios of n horizons; side is nil where the neighbour has no part.
//
//go:noescape
func ratioLanes(dst, cell, side *float64, part float64, base, times *float64, n int)

// sumLanes is addAll of n weights.
//
//go:noescape
func sumLanes(z *[cards]float64, w *pair, x *float64, n int)

// stepLanes is descendAll of n weights; use has all bits set of each card that uses the weight.
//
//go:noescape
func stepLanes(w *pair, x *float64, use *[cards]uint64, n int, sq, step *[cards]float64)

// sigmoidLanes is sigmoids of whole fours; at most three numbers at the end stay as they are.
//
//go:noescape
func sigmoidLanes(x *float64, n int)

// expLanes is exponentials of whole fours of numbers within 700; at most three numbers at the end stay as they are.
//
//go:noescape
func expLanes(x *float64, n int)

// featureLanes is addFeature of n log-lifts; side is nil where the neighbour has no part.
//
//go:noescape
func featureLanes(z *[cards]float64, w *pair, x *float64, n int, cell, side *pair, t float64)

// effectLanes is featureEffect of n log-lifts; pairs without a part are nil.
//
//go:noescape
func effectLanes(part *[cards]float64, w *pair, x *float64, n int, cell, side *pair, t float64, line *pair,
	u float64) (e float64)

// belowLanes is below of n edges.
//
//go:noescape
func belowLanes(edges *float64, n int, v float64) (below int)

// quickLanes computes the figures of four features: the bits of towards and changeOf, and the sums of about up to
// rounding.
//
//go:noescape
func quickLanes(a *quickArgs)

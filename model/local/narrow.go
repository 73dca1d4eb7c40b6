package local

import (
	"context"
	"slices"
)

// Widest bounds the features of a structure: the sums of distances are exact for fewer than 1,024.
const Widest = 512

// Steps of one curve, for the budget of a fit: with patience, and of a wide structure.
const (
	curveSteps = 2e6
	wideSteps  = 5e5
)

// steps estimates the work of a fit with that many features: the trials of the distance, the trials of features beside
// others, the curves and the correlations.
func (x *fitter) steps(features int) float64 {
	f, records := float64(features), float64(x.ev.Len())
	n := min(float64(x.options.Prototypes), records)
	measured := 1.
	if x.options.Theta < 0 {
		measured = float64(len(measures()))
	}
	each := curveSteps
	if features > wide {
		each = wideSteps
	}
	return min(n*n*f*measured, trialTerms) + 2*min(n*n*f, besideTerms) + f*each + f*f*min(records, maxCorrelated)/2 +
		x.weighSteps(f, records)
}

// narrow leaves out the features that a fit cannot afford, all but the strongest ones (model.Evidence.Strongest): they
// get no axis, and so neither curve nor place in a distance.
func (x *fitter) narrow(ctx context.Context, axes []axis) error {
	if err := ctx.Err(); err != nil || x.options.Plain {
		return err
	}
	var used []int32
	for f := range axes {
		if axes[f].bins > 0 || axes[f].nominal {
			used = append(used, int32(f))
		}
	}
	if len(used) == 0 {
		return nil
	}
	n, err := x.ev.Afford(len(used), x.steps)
	if err != nil {
		return err
	}
	kept, err := x.ev.Strongest(ctx, used, min(n, Widest))
	if err != nil {
		return err
	}
	for _, f := range used {
		if _, ok := slices.BinarySearch(kept, f); !ok {
			axes[f] = axis{}
		}
	}
	return nil
}

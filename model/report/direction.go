package report

import (
	"fmt"
	"math"

	"liftstream/model"
)

// against says that the rate of the positive class moves against the direction that the configuration gives a feature,
// which leaves little or nothing of the feature in a score; "" where it does not. The first cells, as many as ordered,
// are those of the feature in its order; missing values and special codes are bound by no direction.
//
// It does so where two things hold. The trend of the rate over the rank of the cell lies three standard errors against
// the direction (Cochran-Armitage), so that chance names one feature of 700. And the rates, pooled over neighbouring
// cells until none goes against the direction (isotonic regression, weighted), keep less than half of the sum of
// squares between the cells: less than 2 % is no effect.
func (t *tally) against(f *model.Feature, ordered, positive int) string {
	if f.Monotone != model.Up && f.Monotone != model.Down || positive < 0 || ordered < 2 {
		return ""
	}
	verb, sign := "falls", 1.
	if f.Monotone == model.Down {
		verb, sign = "rises", -1
	}
	type block struct{ n, y float64 }
	var n, y, sx, sxx, sxy float64
	var pooled []block
	for x := range ordered {
		w, one := t.of(x), t.counts[x*t.classes+positive]
		if w == 0 {
			continue
		}
		rank := float64(x)
		n, y = n+w, y+one
		sx, sxx, sxy = sx+w*rank, sxx+w*rank*rank, sxy+one*rank
		pooled = append(pooled, block{w, one})
		for k := len(pooled) - 1; k > 0 && sign*(pooled[k].y/pooled[k].n-pooled[k-1].y/pooled[k-1].n) <= 0; k-- {
			pooled[k-1].n, pooled[k-1].y = pooled[k-1].n+pooled[k].n, pooled[k-1].y+pooled[k].y
			pooled = pooled[:k]
		}
	}
	rate := y / n
	unit := model.Unit(t.n, t.square)
	z := sign * (sxy - rate*sx) / math.Sqrt(rate*(1-rate)*(sxx-sx*sx/n)*unit)
	if !(z < -3) {
		return ""
	}
	var whole, left float64
	for x := range ordered {
		if w := t.of(x); w > 0 {
			d := t.counts[x*t.classes+positive]/w - rate
			whole += w * d * d
		}
	}
	for _, b := range pooled {
		d := b.y/b.n - rate
		left += b.n * d * d
	}
	direction := "up"
	if f.Monotone == model.Down {
		direction = "down"
	}
	switch share := left / whole; {
	case share < .02:
		return fmt.Sprintf("the rate of the positive class %s with it, against monotone: %s: it has no effect left", verb,
			direction)
	case share < .5:
		return fmt.Sprintf("the rate of the positive class %s with it, against monotone: %s: %.0f %% of its effect is left",
			verb, direction, 100*share)
	}
	return ""
}

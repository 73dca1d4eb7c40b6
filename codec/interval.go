package codec

import (
	"math"

	"liftstream/codec/internal/column"
	"liftstream/model"
)

// bound is a column of a bound of the propensity of the target, null where it is not known.
func bound(name string, of func(x *model.Interval) float64) scoreColumn {
	return scoreColumn{name: name, typ: typeFloat64, nullable: true, asked: true,
		role: func(o *Options) string { return when(o.Interval, name) },
		fill: func(int) (builder, func(x *scored)) {
			c := &column.Fixed[float64]{}
			return c, func(x *scored) {
				for i := range x.b.N {
					v := math.NaN()
					if i < len(x.s.Intervals) {
						v = of(&x.s.Intervals[i])
					}
					c.Add(v, known(v))
				}
			}
		}}
}

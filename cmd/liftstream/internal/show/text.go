// Package show writes results for people: the report of a fit, an evaluation, the records of a topic, a model. Each
// exported function writes one of them.
package show

import (
	"fmt"
	"math"
	"slices"

	"liftstream/model/evaluate"
)

// signed writes a difference with its sign.
func signed[F ~float64](f F) string {
	v := float64(f)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf("%+.4f", v)
}

func signedInterval(i evaluate.Interval) string {
	if math.IsNaN(float64(i[0])) || math.IsNaN(float64(i[1])) {
		return "-"
	}
	return fmt.Sprintf("[%s, %s]", signed(i[0]), signed(i[1]))
}

func interval(i evaluate.Interval) string {
	if math.IsNaN(float64(i[0])) || math.IsNaN(float64(i[1])) {
		return "-"
	}
	return fmt.Sprintf("[%.4f, %.4f]", float64(i[0]), float64(i[1]))
}

// sorted returns the keys of a map in ascending order.
func sorted[K int32 | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package evaluate

import (
	"math"

	"liftstream/model/drift"
)

// DriftPoint is a place of the stream where the log-loss of the scores changed, found by ADWIN (model/drift), also in
// short streams. Each counted record counts once, of any weight.
type DriftPoint struct {
	At     int64  `json:"at"`              // records of the stream up to the alarm, skipped ones included
	Since  int64  `json:"since"`           // records of the stream before the change, as far as it can be told
	Before Number `json:"log_loss_before"` // of the records since the change before
	After  Number `json:"log_loss_after"`  // of the records up to the next change
}

// driftPoints are the changes of the losses of s, which is in stream order. Losses are not bounded by 1, as the paper
// has it: rare large ones make alarms by chance likelier than it says.
func driftPoints(s *Set) []DriftPoint {
	points := []DriftPoint{}
	index := func(i int) int64 { return s.Index[i] }
	for _, c := range changesOf(s.Len(), drift.DefaultADWIN(), s.loss, index, 1) {
		points = append(points, DriftPoint{At: c.at, Since: c.since, Before: c.before, After: c.after})
	}
	return points
}

// meanChange is a change of the mean of a number, see DriftPoint.
type meanChange struct {
	at, since     int64
	before, after Number // NaN over fewer than the least numbers
}

// changesOf gives n numbers to an ADWIN, those of the records of these indices, in stream order. A change is found by
// several alarms, one after the other, while the window still holds numbers of before it: those whose window begins
// before the first alarm are one change, and the last of them tells where it began.
func changesOf(n int, o drift.ADWINOptions, number func(i int) float64, index func(i int) int64, least int,
) []meanChange {
	var out []meanChange
	var begins []int // of the numbers after each change
	a := drift.NewADWIN(o)
	for i := range n {
		if !a.Add(number(i)) {
			continue
		}
		begin := i + 1 - int(a.Width())
		if last := len(out) - 1; last >= 0 && index(begin) < out[last].at {
			begins[last] = begin
			continue
		}
		out, begins = append(out, meanChange{at: index(i) + 1}), append(begins, begin)
	}
	mean := func(from, to int) Number {
		if to-from < least {
			return Number(math.NaN())
		}
		sum := 0.0
		for i := from; i < to; i++ {
			sum += number(i)
		}
		return Number(sum / float64(to-from))
	}
	begins = append(begins, n)
	from := 0
	for k := range out {
		out[k].since = index(begins[k])
		out[k].before, out[k].after = mean(from, begins[k]), mean(begins[k], begins[k+1])
		from = begins[k]
	}
	return out
}

package evaluate

import "liftstream/model/drift"

// DriftPoint is a place of the stream where the log-loss of the scores changed, found by ADWIN (model/drift), also in
// short streams. Each counted record counts once, of any weight.
type DriftPoint struct {
	At     int64  `json:"at"`              // records of the stream up to the alarm, skipped ones included
	Since  int64  `json:"since"`           // records of the stream before the change, as far as it can be told
	Before Number `json:"log_loss_before"` // of the records since the change before
	After  Number `json:"log_loss_after"`  // of the records up to the next change
}

// driftPoints gives the losses of s, which is in stream order, to an ADWIN. A change is found by several alarms, one
// after the other, while the window still holds records of before it: those whose window begins before the first alarm
// are one point, and the last of them tells where the change began. Losses are not bounded by 1, as the paper has it:
// rare large ones make alarms by chance likelier than it says.
func driftPoints(s *Set) []DriftPoint {
	points := []DriftPoint{}
	var begins []int // of the records after each point
	a := drift.NewADWIN(drift.DefaultADWIN())
	for i := range s.Class {
		if !a.Add(s.loss(i)) {
			continue
		}
		at, begin := s.Index[i]+1, i+1-int(a.Width())
		if last := len(points) - 1; last >= 0 && s.Index[begin] < points[last].At {
			begins[last] = begin
			continue
		}
		points, begins = append(points, DriftPoint{At: at}), append(begins, begin)
	}
	mean := func(from, to int) Number {
		sum := 0.0
		for i := from; i < to; i++ {
			sum += s.loss(i)
		}
		return Number(sum / float64(to-from))
	}
	begins = append(begins, s.Len())
	from := 0
	for k := range points {
		points[k].Since = s.Index[begins[k]]
		points[k].Before, points[k].After = mean(from, begins[k]), mean(begins[k], begins[k+1])
		from = begins[k]
	}
	return points
}

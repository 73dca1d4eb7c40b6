package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
)

// Budgets of the work of a fit, in steps for each component. A step is about a nanosecond of one processor. A budget in
// steps and not in time lets a replay, another machine and a busy one fit the same model (MODEL.md 5).
const (
	// LoopWork is for model 0, which a partition fits between two records.
	LoopWork = 50_000_000
	// StageWork is for the models that the trainer of a stage fits, and for those of an evaluation; Options.Work lowers
	// it.
	StageWork = 1 << 36
	// FirstWork is for the first model of a stage, which must come soon: about a second for each component. The models
	// that follow it have StageWork.
	FirstWork = 1 << 30
	// FileWork is for a model of files.
	FileWork = 1 << 40
)

// FitWork is the budget of a fit in steps for each component. first says that no model was published before.
func (o *Options) FitWork(first bool) int64 {
	work := int64(StageWork)
	if o.Work > 0 {
		work = o.Work
	}
	if first {
		work = min(work, FirstWork)
	}
	return work
}

// narrowings are the features and records that the components of a fit leave out, in words.
type narrowings struct {
	mu    sync.Mutex
	texts map[string]bool
}

// LeavesOut notes, in words such as "looks at the 3 strongest of 5 features", that a Fit leaves features or records out
// to keep within its budget. Model.Narrowed has these notes.
func (e *Evidence) LeavesOut(text string) {
	if e.narrowed == nil {
		return
	}
	e.narrowed.mu.Lock()
	defer e.narrowed.mu.Unlock()
	e.narrowed.texts[e.component+" "+text] = true
}

// all returns the notes in the order of their texts.
func (n *narrowings) all() []string { return slices.Sorted(maps.Keys(n.texts)) }

// ErrTooMuchWork is returned by a Fit that must do all of its work and has too small a budget for it; see
// Evidence.Strict.
var ErrTooMuchWork = errors.New("the fit takes more work than its budget")

// Work counts the steps of a fit against a budget. A nil Work has no bound. It is not safe for concurrent use: work
// that runs side by side is estimated before it starts.
type Work struct{ left int64 }

// NewWork returns a budget of that many steps; 0 or fewer = no bound.
func NewWork(steps int64) *Work {
	if steps <= 0 {
		return nil
	}
	return &Work{steps}
}

// Spend takes steps from the budget, and reports whether they were there.
func (w *Work) Spend(steps int64) bool {
	if w == nil {
		return true
	}
	if w.left -= steps; w.left < math.MinInt64/2 {
		w.left = math.MinInt64 / 2
	}
	return w.left >= 0
}

// Left is the number of steps that may still be spent.
func (w *Work) Left() int64 {
	if w == nil {
		return math.MaxInt64
	}
	return max(w.left, 0)
}

// Spent reports whether the budget is used up.
func (w *Work) Spent() bool { return w != nil && w.left <= 0 }

// Affords reports whether a Fit may do work of that many steps.
func (e *Evidence) Affords(steps float64) bool { return e.Work <= 0 || steps <= float64(e.Work) }

// Afford is the rule by which a Fit keeps within its budget: it returns the largest number from 1 to n, of features or
// of records, for which steps is within the budget; 1 where none is. steps must not fall. A strict Fit gets
// ErrTooMuchWork where it is not n.
func (e *Evidence) Afford(n int, steps func(n int) float64) (int, error) {
	if e.Affords(steps(n)) {
		return n, nil
	}
	if e.Strict {
		return 0, ErrTooMuchWork
	}
	low, high := 1, n
	for high-low > 1 {
		if mid := (low + high) / 2; e.Affords(steps(mid)) {
			low = mid
		} else {
			high = mid
		}
	}
	return low, nil
}

// How features are ranked.
const (
	rankRecords = 2048 // most records that are looked at, evenly spread
	rankCells   = 16   // of a feature
)

// Strongest returns, ascending, the n of the features that tell most about the class alone: by the mutual information
// of the class and 16 cells of equal size, or the first 15 levels and the others, corrected for its bias by
// (cells - 1)(classes - 1)/2n, over at most 2,048 records, evenly spread. Missing values are a cell. Equal ones are
// taken in the order of the configuration. It is the rule by which a fit leaves features out (MODEL.md 5).
func (e *Evidence) Strongest(ctx context.Context, features []int32, n int) ([]int32, error) {
	if n >= len(features) {
		return features, nil
	}
	e.LeavesOut(fmt.Sprintf("looks at the %d strongest of %d features", n, len(features)))
	type ranked struct {
		feature int32
		tells   float64
	}
	stride := max((e.Len()+rankRecords-1)/rankRecords, 1)
	var rows []int
	for i := e.Len() - 1; i >= 0; i -= stride {
		if e.Weight[i] > 0 {
			rows = append(rows, i)
		}
	}
	told := e.told
	if told == nil {
		told = &tellings{by: map[int32]float64{}}
	}
	told.mu.Lock()
	defer told.mu.Unlock()
	order := make([]ranked, 0, len(features))
	values := make([]float64, 0, len(rows))
	for k, f := range features {
		if k%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x, ok := told.by[f]
		if !ok {
			x = e.tells(int(f), rows, values)
			told.by[f] = x
		}
		order = append(order, ranked{f, x})
	}
	slices.SortStableFunc(order, func(a, b ranked) int { return cmp.Compare(b.tells, a.tells) })
	out := make([]int32, n)
	for k := range out {
		out[k] = order[k].feature
	}
	slices.Sort(out)
	return out, nil
}

// tellings are the results of tells, which the components of a fit share.
type tellings struct {
	mu sync.Mutex
	by map[int32]float64
}

// tells is the corrected mutual information of a feature and the class over the rows; values is working memory.
func (e *Evidence) tells(f int, rows []int, values []float64) float64 {
	column, classes := e.Columns[f], len(e.Schema.Classes)
	continuous := e.Schema.Features[f].Kind == Continuous
	if continuous {
		values = values[:0]
		for _, i := range rows {
			if v := column[i]; v == v {
				values = append(values, v)
			}
		}
		slices.Sort(values)
	}
	count := make([]float64, (rankCells+1)*classes)
	for _, i := range rows {
		cell, v := rankCells, column[i]
		switch {
		case v != v:
		case continuous:
			at, _ := slices.BinarySearch(values, v)
			cell = at * rankCells / len(values)
		default:
			cell = int(min(v, rankCells-1))
		}
		count[cell*classes+int(e.Class[i])]++
	}
	n := float64(len(rows))
	if n == 0 {
		return 0
	}
	of := make([]float64, classes)
	cells, seen, sum := 0, 0, 0.
	for c := range rankCells + 1 {
		for y := range of {
			of[y] += count[c*classes+y]
		}
	}
	for _, v := range of {
		if v > 0 {
			seen++
		}
	}
	for c := range rankCells + 1 {
		var all float64
		for _, v := range count[c*classes : (c+1)*classes] {
			all += v
		}
		if all > 0 {
			cells++
		}
		for y, v := range count[c*classes : (c+1)*classes] {
			if v > 0 {
				sum += v / n * math.Log(v*n/(all*of[y]))
			}
		}
	}
	return sum - float64((cells-1)*(seen-1))/(2*n)
}

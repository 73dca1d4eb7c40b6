package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/cmd/liftstream/internal/records"
	"liftstream/codec/file"
	"liftstream/model"
	"liftstream/model/evaluate"
	"liftstream/model/report/text"
)

// maxFolds bounds the values of a fold column.
const maxFolds = 1000

// foldsOf returns the number of folds and the maker of the function that assigns them.
func (e *Evaluation) foldsOf(ctx context.Context, a *cli.App, data []string, o file.Options, seed uint64) (int,
	func() evaluate.Fold, error) {
	if e.FoldColumn == "" {
		return e.Folds, evaluate.StratifiedFolds(e.Folds, seed), nil
	}
	o.Beside = []string{e.FoldColumn}
	var values []string
	r, bar, err := records.Open(a, "folds", data, o)
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	defer bar.Finish()
	var b model.Batch
	for {
		if err := ctx.Err(); err != nil {
			return 0, nil, err
		}
		err := r.Next(&b, nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, nil, err
		}
		for _, v := range r.Beside(0) {
			values = append(values, strings.Clone(v))
		}
	}
	order := slices.Compact(slices.Sorted(slices.Values(values)))
	order = slices.DeleteFunc(order, func(v string) bool { return v == "" })
	if len(order) < 2 || len(order) > maxFolds {
		return 0, nil, fmt.Errorf("%s: column %q has %s, and folds are 2 to %d", text.Joined(data), e.FoldColumn,
			text.Count(len(order), "value"), maxFolds)
	}
	of := map[string]int{"": -1}
	for i, v := range order {
		of[v] = i
	}
	e.foldNames = order
	fold := func(index int64, _ int32) int { return of[values[index]] }
	return len(order), func() evaluate.Fold { return fold }, nil
}

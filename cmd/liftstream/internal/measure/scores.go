package measure

import (
	"fmt"
	"math"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/model/evaluate"
)

// scoreRows writes the scores of an evaluation as the command score writes those of files: source_row is the number of
// the record in the stream, source_partition the partition that scored it.
type scoreRows struct {
	encoder *codec.ScoreEncoder
	write   func(t *codec.Table) error
	method  int
	classes int
	batch   model.Batch
	scores  model.Scores
	levels  *model.Levels // of all partitions and models, which have orders of their own
	schema  *model.Schema
	control model.Control // of the stage: methods without a Spec set no flags
}

func newScoreRows(o codec.Options, methods []evaluate.Method, write func(t *codec.Table) error) (*scoreRows, error) {
	o.Features = codec.FeaturesNone // a label that comes late finds its row no longer
	encoder, err := codec.NewScoreEncoder(o)
	if err != nil {
		return nil, err
	}
	r := &scoreRows{encoder: encoder, write: write, method: evaluate.Lead(methods), classes: len(o.Schema.Classes),
		schema: o.Schema, levels: model.NewLevels(o.Schema)}
	r.reset()
	return r, nil
}

// scoreChunk is the number of rows that are written at once.
const scoreChunk = 1000

func (r *scoreRows) reset() {
	b := &r.batch
	*b = model.Batch{Row: b.Row[:0], Time: b.Time[:0]}
	r.scores.Reset(0, r.classes)
}

// add takes the next record. All rows of a table have one model and partition, and all or none have ids.
func (r *scoreRows) add(x *evaluate.Record) error {
	s, b, offset := x.Scores[r.method], &r.batch, x.Index>>31
	if b.N == scoreChunk || b.N > 0 && (r.scores.Model != s.Model || b.Partition != x.Partition || b.Offset != offset ||
		(b.ID == nil) != (x.Batch.ID == nil)) {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.scores.Model, b.Partition, b.Offset = s.Model, x.Partition, offset
	b.N++
	b.Row = append(b.Row, int32(x.Index&math.MaxInt32))
	b.Time = append(b.Time, x.Batch.Time[x.Row])
	if x.Batch.ID != nil {
		b.ID = append(b.ID, x.Batch.ID[x.Row])
	}
	from := len(r.scores.Why)
	r.scores.Append(s, x.Row)
	if r.control.Share > 0 {
		r.scores.Control = append(r.scores.Control[:b.N-1], r.control.Of(x.Batch, x.Row))
	}
	for k := range r.scores.Why[from:] {
		w := &r.scores.Why[from+k]
		if f := w.Feature; f >= 0 && r.schema.Features[f].Kind != model.Continuous && !math.IsNaN(w.Value) {
			w.Value = model.Cell(r.levels.Code(int(f), x.Levels[r.method].Text(int(f), w.Value)))
		}
	}
	return nil
}

func (r *scoreRows) flush() error {
	if r.batch.N == 0 {
		return nil
	}
	t, err := r.encoder.Table(&r.batch, &r.scores, r.levels, nil)
	if err != nil {
		return fmt.Errorf("writing scores: %w", err)
	}
	if err := r.write(t); err != nil {
		return err
	}
	r.reset()
	return nil
}

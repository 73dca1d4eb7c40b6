package evaluate

import (
	"context"
	"fmt"

	"liftstream/model"
)

// historyOffset is the offset of the first message of a history. Those of topics begin at 0, so no live record has the
// place of one of a history.
const historyOffset = -1 << 52

// History is a stage that has learnt a stream: its partitions, ready for the first live record, and the model that
// they serve.
type History struct {
	Partitions []*model.Partition
	Model      *model.Model // nil = the stream was too short for one, or all its labels are of one class
	Run
}

// Past says how Learn runs. Labels come with their records.
type Past struct {
	Partitions int // as Options has them
	Refit      int
	// Began is the time of the first record of a source without times, in Unix nanoseconds; each record after it comes a
	// nanosecond later.
	Began int64
	// Version is the one before that of the first model; 0 = there was none.
	Version int64
}

// Learn runs the stage of the Spec over a stream and returns it. The same stage under Prequential, whose first records
// are those of the stream, scores the next record the same: it differs by the records that its reservoirs have drawn,
// and by the times of a source without times. Duplicates are left out as Options.DedupWindow says. A record without a
// label waits for it as it does live. Labels of files are final: no window has to close before they are learnt. An
// empty stream gives empty partitions.
func Learn(ctx context.Context, spec *model.Spec, src Source, past Past) (*History, error) {
	final := *spec
	final.Options.ExpireAs = model.Unlabelled
	method := Stage(MethodAll, &final)
	d := newDriver(spec.Schema, []Method{method}, Options{Partitions: past.Partitions, Refit: past.Refit}, nil)
	d.began, d.versions = past.Began, past.Version
	for p, live := range d.live[0] {
		d.offsets[p], d.learners[0][p] = historyOffset, sifted{live}
	}
	if err := d.drive(ctx, src); err != nil {
		return nil, err
	}
	h := &History{Partitions: d.live[0], Model: d.serving[0], Run: d.run}
	for p, live := range h.Partitions {
		if spec.Options.ExpireAs < 0 {
			break
		}
		var err error
		if h.Partitions[p], err = model.RestorePartition(spec, live.Snapshot()); err != nil {
			return nil, fmt.Errorf("handing the history over: %w", err)
		}
	}
	return h, nil
}

// number gives the first model of a method the version after Past.Version; those after it count on.
func (d *driver) number(m *model.Model, method int) {
	if d.serving[method] == nil {
		m.Version += d.versions
	}
}

// sifted leaves the duplicates out of the messages of a partition and fills the features of former records, as a stage
// does.
type sifted struct{ *model.Partition }

// Events is that of the partition, without the duplicates.
func (s sifted) Events(b *model.Batch, out *model.Scores) {
	s.Sieve.Sift(b)
	s.Recency.Fill(b)
	s.Partition.Events(b, out)
}

package evaluate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"liftstream/model"
	"liftstream/model/murmur2"
)

// Source is a stream of batches; a batch is valid until the next one is asked for. Folds ranges over it several times.
type Source = iter.Seq2[*model.Batch, error]

// Options say how a protocol runs.
type Options struct {
	// Delay is the number of records after which a label arrives: that of record t is learnt when t + Delay has been
	// scored and before t + Delay + 1 is. 0 = with the record itself. Labels that the stream ends before are not learnt.
	Delay int
	// Partitions is the number of input partitions, each learning alone between re-fits; 0 = 1. A record belongs to
	// murmur2(id) mod Partitions, as Kafka's producers for Java have it; without ids they take turns.
	Partitions int
	// Refit is the number of learnt records, of all partitions, between verdicts; 0 = never. A model is fitted
	// model.Compared(Refit) records before its verdict and compared on those. The next record is scored by the result.
	// Before the first of these come the models of the cold start, of Options.Warmup records and then of the numbers
	// that model.AfterCold gives, which serve without a verdict.
	Refit int
}

// messageRows bounds the records of a partition that are handed over at once. It has no effect on any score.
const messageRows = 1000

// stabilityRecords is the number of records before each re-fit that are scored by the model before and after it.
const stabilityRecords = 1000

// Record is one scored record, in stream order (Folds: fold by fold). It is valid during the call that hands it over.
type Record struct {
	Index     int64 // in the stream, from 0
	Partition int32
	Class     int32 // of the source: may be Unlabelled or UnknownClass
	Weight    float64
	Batch     *model.Batch    // its values, and the labels as the learners saw them
	Scores    []*model.Scores // by method
	Levels    []*model.Levels // by method, to render Scores with; nil where a method has none
	Row       int             // in Batch and Scores
	treatment model.Treatment // of the source, as Class is
	outcomes  model.Outcomes  // likewise
}

// Sink takes the records; an error ends the run.
type Sink func(r *Record) error

// Run describes a finished protocol.
type Run struct {
	Protocol   string
	Delay      int
	Partitions int
	Records    int64 // read
	Learnt     int64 // labelled records handed to the learners
	Fits       int   // models that were accepted by the gate and swapped in
	Refused    int   // models that the gate, or a partition, refused
	Verdicts   []FitVerdict
	Lost       int // labels that a learner had no record for: its pending store was too small
	Stability  Stability
}

// FitVerdict is the gate's verdict on one model.
type FitVerdict struct {
	Method string
	Learnt int64 // records at the verdict
	model.Verdict
}

// place is where a record of the current messages stands.
type place struct {
	index     int64
	class     int32
	partition int32
	row       int32
	treated   model.Treatment
	outcomes  model.Outcomes
}

// due is a label on its way.
type due struct {
	position
	partition, class int32
	treated          model.Treatment
	outcomes         model.Outcomes
}

type driver struct {
	opt       Options
	methods   []Method
	learners  [][]Learner          // by method and partition
	live      [][]*model.Partition // the learners of methods with a Spec
	serving   []*model.Model
	trial     []trial // by method: models that wait for their verdict
	inverted  []int64 // by method: see sense
	former    []*model.Model
	messages  []*message // by partition
	offsets   []int64
	out       [][]model.Scores // by method and partition
	order     []place
	sink      Sink
	recent    []*message // by partition: records before the next re-fit
	change    change
	run       Run
	next      int64 // learnt records at the next verdict
	fitAt     int64 // learnt records at the next fit
	coldAt    int64 // learnt records at the next model of the cold start
	warmup    int64
	record    Record
	label     model.Labels
	onVerdict func(m *model.Model, states model.Held, v FitVerdict) // sees each verdict; nil = nobody
	began     int64                                                 // time of the first record of a source without times
	versions  int64                                                 // version before that of the first model
}

func newDriver(s *model.Schema, methods []Method, opt Options, sink Sink) *driver {
	opt.Partitions = max(1, opt.Partitions)
	d := &driver{
		opt:     opt,
		methods: methods,
		sink:    sink,
		serving: make([]*model.Model, len(methods)),
		trial:   make([]trial, len(methods)), inverted: make([]int64, len(methods)),
		former: make([]*model.Model, len(methods)),
		next:   math.MaxInt64,
		fitAt:  math.MaxInt64,
		coldAt: math.MaxInt64,
	}
	if opt.Refit > 0 {
		d.fitAt = int64(opt.Refit - model.Compared(opt.Refit))
		for _, m := range methods {
			if m.Spec != nil {
				d.warmup = min(max(d.warmup, int64(m.Spec.Options.Warmup), 1), d.fitAt)
				d.coldAt = d.warmup
			}
		}
	}
	for p := range int32(opt.Partitions) {
		d.messages = append(d.messages, newMessage(p, s))
		d.recent = append(d.recent, newMessage(p, s))
	}
	d.offsets = make([]int64, opt.Partitions)
	d.learners, d.live = make([][]Learner, len(methods)), make([][]*model.Partition, len(methods))
	d.out = make([][]model.Scores, len(methods))
	for m := range methods {
		for p := range int32(opt.Partitions) {
			if spec := methods[m].Spec; spec != nil {
				d.live[m] = append(d.live[m], model.NewPartition(spec, p))
				d.learners[m] = append(d.learners[m], d.live[m][p])
				continue
			}
			d.learners[m] = append(d.learners[m], methods[m].New(p))
		}
		d.out[m] = make([]model.Scores, opt.Partitions)
	}
	d.record.Scores, d.record.Levels = make([]*model.Scores, len(methods)), make([]*model.Levels, len(methods))
	d.label = model.Labels{
		N:         1,
		Class:     make([]int32, 1),
		Partition: make([]int32, 1),
		Offset:    make([]int64, 1),
		Row:       make([]int32, 1),
		Time:      make([]int64, 1),
		Treated:   make([]model.Treatment, 1),
		Outcomes:  make([]model.Outcomes, 1),
	}
	d.run = Run{Delay: opt.Delay, Partitions: opt.Partitions}
	return d
}

// Prequential scores every record before it, or any later one, is learnt, by all methods side by side, and hands each
// to the sink in stream order. The result is a function of the source's records, not of their batches.
func Prequential(
	ctx context.Context, s *model.Schema, src Source, methods []Method, opt Options, sink Sink,
) (Run, error) {
	d := newDriver(s, methods, opt, sink)
	err := d.drive(ctx, src)
	return d.run, err
}

func (d *driver) drive(ctx context.Context, src Source) error {
	d.run.Protocol = "prequential"
	opt := &d.opt
	var wait []due // a ring of opt.Delay labels, by index
	if opt.Delay > 0 {
		wait = make([]due, opt.Delay)
	}
	for b, err := range src {
		if err != nil {
			return fmt.Errorf("evaluating: after record %d: %w", d.run.Records, err)
		}
		for p := range d.messages {
			d.messages[p].from(b)
			d.recent[p].from(b)
		}
		for i := range b.N {
			if err := d.prequential(ctx, b, i, wait); err != nil {
				return err
			}
		}
	}
	if err := d.flush(ctx); err != nil {
		return err
	}
	d.run.Stability = d.change.stability()
	return nil
}

func (d *driver) prequential(ctx context.Context, b *model.Batch, i int, wait []due) error {
	index, y := d.run.Records, b.Label[i]
	p := d.partition(b, i, index)
	goals := outcomesOf(b, i)
	shown, told := y, goals
	if wait != nil {
		shown, told = model.Unlabelled, 0
	}
	m := d.messages[p]
	d.order = append(d.order, place{index: index, class: y, partition: p, row: int32(m.batch.N),
		treated: treatmentOf(b, i), outcomes: goals})
	m.addWith(d.began+index, i, shown, told)
	if d.next-d.run.Learnt <= stabilityRecords && d.recent[p].batch.N < 2*stabilityRecords {
		d.recent[p].add(d.began+index, i, model.Unlabelled)
	}
	d.run.Records++
	if wait == nil {
		if known(y, goals) {
			d.run.Learnt++
		}
		if len(d.order) < messageRows*d.opt.Partitions && d.run.Learnt < min(d.fitAt, d.next, d.coldAt) {
			return nil
		}
		if err := d.flush(ctx); err != nil {
			return err
		}
		return d.refit(ctx)
	}
	at, now := position{d.offsets[p], int32(0)}, m.batch.Time[0]
	if err := d.flush(ctx); err != nil {
		return err
	}
	slot := &wait[index%int64(len(wait))]
	arrived := *slot
	*slot = due{at, p, y, treatmentOf(b, i), goals}
	if index < int64(len(wait)) || !known(arrived.class, arrived.outcomes) {
		return nil
	}
	l := &d.label
	l.Class[0], l.Time[0], l.Treated[0] = arrived.class, now, arrived.treated
	l.Outcomes[0] = arrived.outcomes
	l.Partition[0], l.Offset[0], l.Row[0] = arrived.partition, arrived.offset, arrived.row
	for m := range d.methods {
		c := d.learners[m][arrived.partition].Labels(l)
		d.run.Lost += c.Unmatched
	}
	d.run.Learnt++
	return d.refit(ctx)
}

func (d *driver) partition(b *model.Batch, i int, index int64) int32 {
	if d.opt.Partitions == 1 {
		return 0
	}
	if b.ID != nil {
		return int32(murmur2.Partition(b.ID[i], d.opt.Partitions))
	}
	return int32(index % int64(d.opt.Partitions))
}

// flush hands the gathered messages to every learner and the scores to the sink.
func (d *driver) flush(ctx context.Context) error {
	if len(d.order) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("evaluating: after record %d: %w", d.order[0].index, err)
	}
	for p, m := range d.messages {
		if m.batch.N == 0 {
			continue
		}
		m.batch.Offset = d.offsets[p]
		d.offsets[p]++
		for k := range d.methods {
			d.learners[k][p].Events(&m.batch, &d.out[k][p])
		}
	}
	if err := d.hand(); err != nil {
		return err
	}
	for _, m := range d.messages {
		m.reset()
	}
	d.order = d.order[:0]
	return nil
}

// trial is a model that waits for its verdict.
type trial struct {
	model  *model.Model
	states model.Held // that it was made from
}

// refit compares the models that wait for their verdict, and fits every method with a Spec, each at its time.
func (d *driver) refit(ctx context.Context) error {
	if d.run.Learnt >= d.next {
		for k := range d.trial {
			if err := d.decide(ctx, k); err != nil {
				return fmt.Errorf("evaluating: comparing models of %s after record %d: %w", d.methods[k].Name, d.run.Records, err)
			}
			d.trial[k] = trial{}
		}
		d.next, d.fitAt = math.MaxInt64, d.run.Learnt+int64(d.opt.Refit-model.Compared(d.opt.Refit))
		for _, m := range d.recent {
			m.reset()
		}
	}
	if d.run.Learnt >= d.coldAt {
		if err := d.begin(ctx); err != nil {
			return err
		}
	}
	if d.run.Learnt < d.fitAt {
		return nil
	}
	for k := range d.methods {
		if d.methods[k].Spec == nil || !d.trained(k) {
			continue
		}
		states := d.states(k)
		m, err := model.Fit(ctx, d.methods[k].Spec, states, d.serving[k])
		if err != nil {
			return fmt.Errorf("evaluating: re-fitting %s after record %d: %w", d.methods[k].Name, d.run.Records, err)
		}
		d.number(m, k)
		d.trial[k] = trial{m, states}
		d.next, d.fitAt = d.run.Learnt+int64(model.Compared(d.opt.Refit)), math.MaxInt64
	}
	return nil
}

// begin makes a model of the cold start for every method with a Spec and swaps it in, as the trainer of a stage does:
// of records of two classes, and anew.
func (d *driver) begin(ctx context.Context) error {
	made := false
	for k := range d.methods {
		spec := d.methods[k].Spec
		if spec == nil {
			continue
		}
		states := d.states(k)
		m, err := model.FitAnew(ctx, spec, states, d.serving[k])
		if errors.Is(err, model.ErrOneClass) {
			continue
		}
		if err != nil {
			return fmt.Errorf("evaluating: fitting %s after record %d: %w", d.methods[k].Name, d.run.Records, err)
		}
		made = true
		if v := m.Info.Verdict; d.serving[k] != nil {
			if err := d.sense(ctx, k, states, &v); err != nil {
				return err
			} else if !v.Accepted() {
				d.refuse(k, v)
				continue
			}
		}
		d.number(m, k)
		d.serves(k, m)
		for _, live := range d.live[k] {
			if err := live.Swap(m); err != nil && !errors.Is(err, model.ErrModelTooOld) {
				return err
			}
		}
	}
	if d.coldAt = int64(model.AfterCold(float64(d.coldAt))); !made {
		d.coldAt = d.run.Learnt + d.warmup
	}
	if d.coldAt >= int64(d.opt.Refit-model.Compared(d.opt.Refit)) {
		d.coldAt = math.MaxInt64
	}
	return nil
}

func (d *driver) states(k int) model.Held {
	states := model.Held{}
	for p, live := range d.live[k] {
		states[int32(p)] = live.Snapshot()
	}
	return states
}

// Lead is the place of the method whose stability, drift, gains and curve are reported: all, else the first.
func Lead(methods []Method) int {
	return max(0, slices.IndexFunc(methods, func(m Method) bool { return m.Name == MethodAll }))
}

// trained reports whether some partition of the method has seen enough for a structure; before that there is nothing to
// fit.
func (d *driver) trained(k int) bool {
	return slices.ContainsFunc(d.live[k], (*model.Partition).Trained)
}

// decide gives the waiting model of method k its verdict against the model that the partitions serve, as the stage
// does it, and swaps it in when it is accepted.
func (d *driver) decide(ctx context.Context, k int) error {
	spec, m := d.methods[k].Spec, d.trial[k].model
	if m == nil {
		return nil
	}
	states := d.states(k)
	v, err := model.Compare(ctx, spec, m, d.trial[k].states, states, model.Compared(d.opt.Refit))
	if errors.Is(err, model.ErrModelTooOld) {
		d.run.Refused++
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.sense(ctx, k, states, &v); err != nil {
		return err
	}
	m.Info.Verdict = v
	if d.onVerdict != nil {
		d.onVerdict(m, states, FitVerdict{d.methods[k].Name, d.run.Learnt, v})
	}
	if !v.Accepted() {
		d.refuse(k, v)
		return nil
	}
	d.run.Verdicts = append(d.run.Verdicts, FitVerdict{d.methods[k].Name, d.run.Learnt, v})
	if m, err = model.Renew(ctx, spec, m, states); err != nil {
		return err
	}
	d.run.Fits++
	d.serves(k, m)
	for p, live := range d.live[k] {
		trained := live.Trained()
		if err := live.Swap(m); errors.Is(err, model.ErrModelTooOld) {
			d.run.Refused++
			continue
		} else if err != nil {
			return err
		}
		if k == Lead(d.methods) && trained && d.sink != nil {
			if err := d.compare(spec, m, states[int32(p)], d.recent[p]); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare scores the same records by copies of a partition before and after the swap.
func (d *driver) compare(spec *model.Spec, m *model.Model, state map[string][]byte, recent *message) error {
	var out [2]model.Scores
	for i := range out {
		p, err := model.RestorePartition(spec, state)
		if err != nil {
			return err
		}
		if i == 1 {
			if err := p.Swap(m); err != nil {
				return err
			}
		}
		recent.batch.Offset = p.NextOffset()
		p.Events(&recent.batch, &out[i])
	}
	d.change.add(&out[0], &out[1])
	return nil
}

// change accumulates Stability.
type change struct {
	records, segments int
	sum               float64
}

func (c *change) add(before, after *model.Scores) {
	for i := range before.N {
		c.records++
		if before.Segment[i] != after.Segment[i] {
			c.segments++
		}
	}
	for i, p := range before.P {
		c.sum += math.Abs(p-after.P[i]) / float64(before.Classes)
	}
}

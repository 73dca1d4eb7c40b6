package stream

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"liftstream/model"
	"liftstream/stream/state"
)

// purgeSnapshots is the number of snapshots after which none is left that holds a forgotten record: two are kept.
const purgeSnapshots = 2

// purging is the work that an order to forget leaves to a partition.
type purging struct {
	// left is the number of snapshots that begin at once, without waiting for their time.
	left int
	// records are those of the obeyed orders that hold ids, in the state topic.
	records []*state.Erased
}

// inherit takes note of the obeyed orders that a log tells of. Where a former owner has not ended the work, it is begun
// anew.
func (p *purging) inherit(t *task, log *state.Log) {
	for _, e := range log.Erased() {
		if e.Journal < t.m.Journal && e.Names() {
			p.records = append(p.records, e)
		}
	}
	if slices.ContainsFunc(p.records, func(e *state.Erased) bool { return !e.Emptied }) && !p.clean(t.snap) {
		p.left = purgeSnapshots
	}
}

// clean reports whether both snapshots are of later states than the obeyed orders.
func (p *purging) clean(s *state.Snapshotter) bool {
	newest := p.records[len(p.records)-1].Journal
	return s.Last != nil && s.Last.Journal > newest && (s.Before == nil || s.Before.Journal > newest)
}

// due reports whether an idle partition has something to commit for it.
func (p *purging) due(t *task) bool {
	return len(p.records) > 0 && p.clean(t.snap) && slices.ContainsFunc(p.records, func(e *state.Erased) bool {
		return !e.Emptied || !state.OpenErasure(t.s.models, e.Number)
	})
}

// erase obeys the next order to forget. It returns the record for beside the journal, nil where there is no order.
func erase(t *task) *state.Erased {
	if t.snapshotFirst {
		return nil
	}
	o := state.NextErasure(t.s.models, model.Obeyed(t.m.Part))
	if o == nil {
		return nil
	}
	e := &state.Erased{Journal: t.m.Journal, Erasure: o.Erasure}
	e.Found, e.Keys = model.Forget(t.m.Part, &o.Erasure)
	t.purge.left = purgeSnapshots // those before may hold a record that has left the state since
	if e.Found.Any() {
		t.purge.records = append(t.purge.records, e)
	} else { // a replay finds nothing either, and needs no ids
		e.IDs, e.Erasure.Keys = nil, nil
	}
	t.log.Info("records forgotten, as ordered", zap.Uint64("order", o.Number), zap.Int("ids", len(o.IDs)),
		zap.Int("waiting", e.Found.Waiting), zap.Int("tail", e.Found.Tail), zap.Int("reservoir", e.Found.Reservoir),
		zap.Int("prototypes", e.Found.Prototypes), zap.Int("dedup", e.Found.Sieve),
		zap.Int("recency", e.Found.Recency), zap.Time("given", o.Time), zap.String("client", o.Client),
		zap.String("why", o.Why))
	return e
}

// unobeyedErasure reports whether an order to forget waits.
func unobeyedErasure(t *task) bool {
	return !t.snapshotFirst && state.NextErasure(t.s.models, model.Obeyed(t.m.Part)) != nil
}

// tidy empties the records of obeyed orders once no replay needs them. The keys of prototypes stay until the order is
// emptied: by them the command gives the order to the other partitions, maybe long after, and compaction takes the
// older record.
func tidy(t *task, x *transaction) {
	if !t.purge.due(t) {
		return
	}
	var kept []*state.Erased
	for _, e := range t.purge.records {
		open := state.OpenErasure(t.s.models, e.Number)
		if e.Emptied && open {
			kept = append(kept, e)
			continue
		}
		left := e.Empty()
		if open {
			left.Keys = e.Keys
		}
		t.writeState(x, state.Change{Key: state.ErasedKey(e.Journal), Value: left.Encode(t.s.format())})
		if left.Names() {
			kept = append(kept, left)
		}
	}
	t.purge.records = kept
}

// erasing reports whether an order to forget has come since the trainer has read its snapshots, and drops the models
// that were made of former ones. The order may be emptied by then: a fit takes longer than the partitions do.
func erasing(t *trainer) bool {
	last, _ := state.LastErasure(t.s.models)
	if last <= t.erased {
		return false
	}
	t.erased, t.last = last, time.Time{} // the next fit leaves the records out: it is due
	if t.waiting != nil || t.ready != nil {
		t.waiting, t.ready, t.tried = nil, nil, nil
		t.cold.tried = 0
		t.s.o.Metrics.Candidate.Reset()
		t.s.o.Metrics.Fits.WithLabelValues("dropped").Inc()
		t.s.o.Log.Info("a fitted model is dropped: records that it may have learnt are forgotten, as ordered",
			zap.Uint64("order", last))
	}
	return true
}

// afterErasures returns errNotYet while snapshots without the forgotten records are about to come, and then deletes the
// models that may hold such a record.
func afterErasures(ctx context.Context, t *trainer, snaps map[int32]*state.Manifest) error {
	if !obeyed(t, snaps) {
		return errNotYet
	}
	return purgeModels(ctx, t)
}

// purgeAtRest is afterErasures of a trainer that fits nothing, and looks at snapshots for this alone.
func purgeAtRest(ctx context.Context, t *trainer) error {
	if len(superseded(t)) == 0 {
		return nil
	}
	snaps, _, err := newestSnapshots(ctx, t)
	if err != nil {
		return err
	}
	return afterErasures(ctx, t, snaps)
}

// superseded returns the models that were published before the newest order to forget, but for the newest one and the
// one that serves: they may hold a forgotten record.
func superseded(t *trainer) []int64 {
	old := state.BeforeErasures(t.s.models)
	if serving := t.previous(); serving != nil {
		old = slices.DeleteFunc(old, func(v int64) bool { return v == serving.Version })
	}
	if model.KeepsRecords(t.s.o.Spec) {
		return old
	}
	return slices.DeleteFunc(old, func(v int64) bool { return !mayHold(t, v) })
}

// mayHold reports whether a version may hold records, though no component of the stage keeps any: it may have been made
// under another configuration. One that cannot be read may.
func mayHold(t *trainer, version int64) bool {
	holds, known := t.holds[version]
	if known {
		return holds
	}
	m, err := t.s.models.Under(version, t.s.o.Spec.Schema)
	if holds = err != nil || model.MayHoldRecords(t.s.o.Spec, m); t.holds == nil {
		t.holds = map[int64]bool{}
	}
	t.holds[version] = holds
	return holds
}

// purgeModels deletes the models that were published before the newest order to forget: they may hold a forgotten
// record. One that serves, or that a snapshot or a journal needs, stays until it does no more, and so does the newest.
func purgeModels(ctx context.Context, t *trainer) error {
	old := superseded(t)
	if len(old) == 0 {
		return nil
	}
	needed := t.needed()
	old = slices.DeleteFunc(old, func(v int64) bool { return needed[v] })
	if len(old) == 0 {
		return nil
	}
	t.s.o.Log.Info("models of before an order to forget are deleted", zap.Int64s("models", old))
	return t.publish(ctx, nil, nil, state.Deletion(t.s.models, old, t.s.o.Now())...)
}

// newestSnapshots reads the state topic on, and returns the newest snapshot of each partition under this configuration,
// with the number of partitions whose newest one is of another.
func newestSnapshots(
	ctx context.Context, t *trainer,
) (snaps map[int32]*state.Manifest, others int, err error) {
	fingerprint := t.s.o.Spec.Options.Fingerprint
	snaps = map[int32]*state.Manifest{}
	for p, l := range t.logs {
		if err := t.follow(ctx, p, l); err != nil {
			return nil, 0, err
		}
		found, _ := l.Manifests()
		if len(found) > 0 && found[0].Fingerprint != fingerprint {
			others++
		}
		for _, m := range found {
			if m.Fingerprint == fingerprint {
				snaps[int32(p)] = m
				break
			}
		}
	}
	return snaps, others, nil
}

// obeyed reports whether the snapshots are of states that have obeyed all orders to forget that are not emptied.
func obeyed(t *trainer, snaps map[int32]*state.Manifest) bool {
	_, open := state.LastErasure(t.s.models)
	if open == 0 {
		return true
	}
	for p, m := range snaps {
		i := slices.IndexFunc(m.Sections, func(s state.Stored) bool { return s.Name == model.SectionForgot })
		if i < 0 {
			return false
		}
		b, err := t.logs[p].Section(m, m.Sections[i])
		if err != nil {
			return false
		}
		if number, err := model.ObeyedBy(b); err != nil || number < open {
			return false
		}
	}
	return true
}

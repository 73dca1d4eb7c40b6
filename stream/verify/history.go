package verify

import (
	"context"
	"crypto/sha256"
	"fmt"

	"liftstream/model"
	"liftstream/stream/state"
	"liftstream/stream/txn"
)

// history is everything that a partition of the state topic still tells, in the order in which it was written.
type history struct {
	done      state.Done // the newest
	doneErr   error      // it cannot be read
	beginning beginning
	journal   map[uint64]state.JournalEntry
	judged    state.Judgements
	snapshots []*snapshot // readable or not, in the order of the topic

	// levels has the newest readable levels of this state, by the fingerprint of the configuration.
	levels map[uint64][]byte

	log   *state.Log
	ended int64 // offset of the newest tombstone of a former state, -1 = none
	first bool  // no snapshot of this state was readable yet
}

// beginning says how the state began of which the journal tells. The zero value: with the topics.
type beginning struct {
	anew    bool // in place of another state
	unknown bool // the transaction in which it began is no longer told whole
	// claimed is the position that this transaction committed: the events below it were learnt again, and have the scores
	// of the former state.
	claimed state.Position
	scores  int64 // where its own scores begin
	// files: the state was learnt from files, and began with a snapshot.
	files bool
}

// position returns where the state began, in topics whose first offsets are these; ok is false where that is not
// certain any more.
func (b *beginning) position(first state.Position) (at state.Position, ok bool) {
	learntElsewhere := first.Events != 0 && (!b.anew || first.Events != b.claimed.Events)
	if b.unknown || b.files || first.Labels > b.claimed.Labels || learntElsewhere {
		return state.Position{}, false
	}
	return state.Position{Events: first.Events, Labels: b.claimed.Labels}, true
}

// snapshot is one that the state topic held at some time.
type snapshot struct {
	*state.Manifest
	digests  map[string][sha256.Size]byte // nil = its parts could not be read
	sections map[string][]byte            // only of those with which a replay may begin
}

// readHistory reads a partition of the state topic; limit bounds the bytes of a state.
func readHistory(ctx context.Context, c *txn.Client, topic string, partition int, limit int64) (*history, error) {
	h := &history{journal: map[uint64]state.JournalEntry{}, levels: map[uint64][]byte{},
		log: state.NewLog(), ended: -1, first: true}
	h.log.Limit = limit
	start, end, err := c.Bounds(ctx, topic, partition)
	if err != nil {
		return nil, fmt.Errorf("reading the state topic: %w", err)
	}
	if _, err := c.Read(ctx, topic, partition, start, end, h.take); err != nil {
		return nil, fmt.Errorf("reading the state topic: %w", err)
	}
	h.done, h.doneErr = h.log.Done()
	return h, nil
}

// take takes the next record of the topic.
func (h *history) take(r *txn.Record) {
	key, value := string(r.Key), r.Value
	h.log.Apply(r.Key, value)
	if value == nil && state.OfHistory(key) || key == state.BeginKey {
		// The records before belong to another state, in place of which one begins with this transaction.
		h.ended, h.beginning, h.snapshots, h.first = r.Offset, beginning{anew: true, unknown: true}, nil, true
		clear(h.journal)
		clear(h.levels)
		h.judged = nil
		return
	}
	if key == state.DoneKey && h.ended >= 0 && r.Offset == h.ended+1 { // else a marker would lie between
		if d, err := state.DecodeDone(value, state.Format); err == nil {
			at := state.Position{Events: d.Events, Labels: d.Labels}
			h.beginning = beginning{anew: true, claimed: at, scores: d.ScoresFrom}
		}
	}
	if _, err := state.DecodeBootstrap(value, state.Format); err == nil && key == state.BootstrapKey {
		h.beginning.files = true
		return
	}
	e, err := state.DecodeJournal(value, state.Format)
	if err == nil && key == state.JournalKey(e.Number) && len(value) <= state.JournalBytes {
		h.journal[e.Number] = e
		h.between(r.Offset)
		return
	}
	if j, err := state.DecodeJudgement(value, state.Format); err == nil && key == state.JudgedKey(j.Number) {
		if n := len(h.judged); n == 0 || h.judged[n-1].Number < j.Number {
			h.judged = append(h.judged, j)
		}
		h.between(r.Offset)
		return
	}
	if n, o, err := state.DecodeObeyed(value, state.Format); err == nil && key == state.ObeyedKey(n) {
		if e, ok := h.journal[n]; ok { // it comes after it, in the same transaction
			e.Obeyed = o
			h.journal[n] = e
		}
		h.between(r.Offset)
		return
	}
	if e, err := state.DecodeErased(value, state.Format); err == nil && key == state.ErasedKey(e.Journal) {
		if j, ok := h.journal[e.Journal]; ok {
			if j.Erased == nil || !e.Emptied { // the topic may still hold the ids of an emptied one
				j.Erased = e
			}
			h.journal[e.Journal] = j
		}
		h.between(r.Offset)
		return
	}
	if m, err := state.DecodeManifest(value, state.Format); err == nil && key == m.Key() {
		h.takeSnapshot(m)
	}
}

// between takes note of a record that stands between the tombstones of a former state and the done record with which
// this one begins.
func (h *history) between(offset int64) {
	if h.ended >= 0 && offset == h.ended+1 {
		h.ended = offset
	}
}

func (h *history) takeSnapshot(m *state.Manifest) {
	x := &snapshot{Manifest: m}
	if sections, err := h.log.Sections(m); err == nil {
		x.digests = map[string][sha256.Size]byte{}
		h.levels[m.Fingerprint] = sections[model.SectionLevels]
		for name, raw := range sections {
			if !model.NamesAll(name, raw) {
				continue // a replay may know more of them
			}
			x.digests[name] = sha256.Sum256(raw)
		}
		if h.first || len(h.snapshots) > 0 {
			x.sections = sections
		}
		// A replay may begin with the oldest or one of the newest two; the others' bytes are not kept.
		if n := len(h.snapshots); n > 2 {
			h.snapshots[n-2].sections = nil
		}
		h.first = false
	}
	h.snapshots = append(h.snapshots, x)
}

// complete reports whether a replay can go from the journal record of that number, under that model, to the newest: all
// records are there, and the models that they swap in.
func (h *history) complete(from uint64, model int64, models *state.Models) bool {
	var end uint64
	for n := range h.journal {
		end = max(end, n+1)
	}
	held := models.Versions()
	for n := from; n < end; n++ {
		e, ok := h.journal[n]
		if !ok || e.Erased != nil && e.Erased.Emptied {
			return false
		}
		if e.Model != model {
			if _, ok := held[e.Model]; !ok {
				return false
			}
			model = e.Model
		}
	}
	return true
}

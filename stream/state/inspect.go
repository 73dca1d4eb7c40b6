package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"liftstream/model"
	"liftstream/stream/txn"
)

// ModelVersion is a version that the model topic holds.
type ModelVersion struct {
	Version       int64
	Time          time.Time    // of its publication
	Bytes, Packed int          // of its binary form, and as it lies in the topic
	Model         *model.Model // nil when it cannot be read
	Err           error        // why
}

// Published is the content of a model topic, for people.
type Published struct {
	Versions []ModelVersion // in ascending order
	Verdicts []*GateVerdict // the last ones, oldest first, those on refused models included
	Orders   []*Order       // the last ones, oldest first
	Alarms   []*Alarms      // of drift, by partition
	Serving  int64          // the version that is to serve, 0 = none; see Serve
	models   *Models
}

// Serve sets Serving to the version that serves under the configuration of that fingerprint.
func (p *Published) Serve(fingerprint uint64) {
	p.models.Fingerprint = fingerprint
	p.Serving = p.models.Serves().Version
}

// ReadPublished reads a model topic. Each version is decoded under its own schema.
func ReadPublished(ctx context.Context, c *txn.Client, topic string) (*Published, error) {
	l := NewModels(c, topic, nil)
	for end := false; !end; {
		var err error
		if end, err = l.Advance(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return contentOf(l), nil
}

func contentOf(l *Models) *Published {
	held := l.Versions()
	p := &Published{Verdicts: l.Verdicts(), Serving: l.Serves().Version,
		Orders: l.Orders(), Alarms: l.Alarms(), models: l}
	for _, v := range slices.Sorted(maps.Keys(held)) {
		m, err := l.Get(v)
		p.Versions = append(p.Versions, ModelVersion{Version: v, Time: l.times[v], Bytes: held[v].Length,
			Packed: held[v].Packed, Model: m, Err: err})
	}
	return p
}

// Version returns a version of the topic, nil where the topic does not hold it.
func (p *Published) Version(v int64) *ModelVersion {
	for i := range p.Versions {
		if p.Versions[i].Version == v {
			return &p.Versions[i]
		}
	}
	return nil
}

// SectionSize is the size of one section of a snapshot.
type SectionSize struct {
	Name          string
	Bytes, Packed int
}

// SnapshotInfo describes a snapshot of one partition's state.
type SnapshotInfo struct {
	Number         uint64
	Fingerprint    uint64 // of the configuration under which it was made
	Events, Labels int64  // next offsets; below 0 = none yet
	Model          int64  // version of the serving model
	Labelled       float64
	// Replayed is the number of journal records after the snapshot, which a restart replays.
	Replayed int
	Sections []SectionSize
	Err      error // why its sections cannot be read; nil = they can
}

// StateInfo describes one partition of the state topic.
type StateInfo struct {
	Partition int
	Keys      int
	Bytes     int64          // of the last value of every key
	Snapshots []SnapshotInfo // newest first
	Problems  []error        // manifests that cannot be read
}

// ReadStates reads the state topic, partition by partition.
func ReadStates(ctx context.Context, c *txn.Client, topic string) ([]StateInfo, error) {
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("reading the state topic: %w", err)
	}
	out := make([]StateInfo, n)
	for p := range out {
		l := NewLog()
		if err := l.Follow(ctx, c, topic, p); err != nil {
			return nil, err
		}
		s := &out[p]
		s.Partition, s.Keys = p, len(l.values)
		for _, v := range l.values {
			s.Bytes += int64(len(v))
		}
		var found []*Manifest
		found, s.Problems = l.Manifests()
		for _, m := range found {
			x := SnapshotInfo{Number: m.Number, Fingerprint: m.Fingerprint, Events: m.Events, Labels: m.Labels,
				Model: m.Model, Labelled: m.Labelled}
			for _, sec := range m.Sections {
				x.Sections = append(x.Sections, SectionSize{sec.Name, sec.Length, sec.Packed})
			}
			_, x.Err = l.Sections(m)
			entries, err := l.Journal(m.Journal)
			if x.Replayed = len(entries); x.Err == nil {
				x.Err = err
			}
			s.Snapshots = append(s.Snapshots, x)
		}
	}
	return out, nil
}

package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/semaphore"

	"liftstream/model"
)

// unpackedBytes bounds the bytes of sections that one Snapshots holds decompressed at a time, with their compressed
// copies. A larger section comes alone.
const unpackedBytes = 64 << 20

// Snapshots gives the sections of the snapshots of many partitions as model.States. The snapshots stay compressed: a
// section is decompressed when it is read, and dropped then. Sections that are read side by side share unpackedBytes.
type Snapshots struct {
	of     map[int32]*Snapshot
	budget *semaphore.Weighted
	limit  int64
}

// NewSnapshots returns the States of the snapshots, whose logs must not change while it is read.
func NewSnapshots(of map[int32]*Snapshot) *Snapshots { return snapshotsWithin(of, unpackedBytes) }

func snapshotsWithin(of map[int32]*Snapshot, limit int64) *Snapshots {
	return &Snapshots{of: of, budget: semaphore.NewWeighted(limit), limit: limit}
}

var _ model.States = (*Snapshots)(nil)

// Partitions are the partitions that have a snapshot, ascending.
func (s *Snapshots) Partitions() []int32 { return slices.Sorted(maps.Keys(s.of)) }

// Sections are the names of the sections of a snapshot.
func (s *Snapshots) Sections(partition int32) (names []string) {
	if m := s.of[partition]; m != nil {
		for _, x := range m.Manifest.Sections {
			names = append(names, x.Name)
		}
	}
	return names
}

// Read decompresses a section and calls use with it. It waits while other readers hold too many bytes.
func (s *Snapshots) Read(partition int32, section string, use func(b []byte) error) error {
	m := s.of[partition]
	if m == nil {
		return use(nil)
	}
	stored, ok := m.Find(section)
	if !ok {
		return use(nil)
	}
	n := min(int64(stored.Length)+int64(stored.Packed), s.limit)
	if err := s.budget.Acquire(context.Background(), n); err != nil {
		return fmt.Errorf("reading section %s: %w", section, err)
	}
	defer s.budget.Release(n)
	raw, err := m.Log.Section(m.Manifest, stored)
	if err != nil {
		return err
	}
	return use(raw)
}

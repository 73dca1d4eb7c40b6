package state

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"liftstream/model"
	"liftstream/model/drift"
	"liftstream/model/wire"
	"liftstream/stream/txn"
)

const (
	alarmKind = "alarm"
	// alarmBytes bounds the value of the alarms of a partition, each with a name of orderText bytes at most.
	alarmBytes = 10 << 10
	// mostAlarmed bounds the number of a partition that has alarms: the configuration allows no more partitions.
	mostAlarmed = 100_000
)

// Alarms are the newest alarms of drift of a partition, as a snapshot of its state told them.
type Alarms struct {
	Partition int32
	Total     uint64        // alarms of the state so far
	Found     []drift.Found // the newest, oldest first
	Time      time.Time     // when the trainer wrote them
}

// AlarmsOf returns the alarms in a snapshot; nil where it is not watched, or has had none.
func AlarmsOf(spec *model.Spec, s *Snapshot, partition int32, now time.Time) (a *Alarms, err error) {
	err = Contain(func() error {
		w, err := model.WatchOf(spec, NewSnapshots(map[int32]*Snapshot{partition: s}), partition)
		if err == nil && w != nil && w.Total() > 0 {
			a = &Alarms{Partition: partition, Total: w.Total(), Found: w.Found(0), Time: now}
		}
		return err
	})
	return a, err
}

// Record returns the record of the alarms in that model topic.
func (a *Alarms) Record(topic string, format int) txn.Record {
	b := wire.AppendVarint(nil, int64(a.Partition))
	b = wire.AppendVarint(b, a.Time.UnixNano())
	b = wire.AppendUvarint(b, a.Total)
	found := a.Found[max(len(a.Found)-drift.KeptAlarms, 0):]
	b = wire.AppendUvarint(b, uint64(len(found)))
	for _, f := range found {
		f.Column = cut(f.Column)
		b = drift.AppendFound(b, f)
	}
	return txn.Record{Topic: topic, Key: []byte(alarmKind + "/" + strconv.Itoa(int(a.Partition))), Value: Seal(b, format),
		Time: a.Time}
}

func decodeAlarms(value []byte, newest int) (*Alarms, error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(payload)
	a := &Alarms{}
	partition, at := r.Varint(), r.Varint()
	a.Partition, a.Time, a.Total = int32(partition), time.Unix(0, at).UTC(), r.Uvarint()
	a.Found = make([]drift.Found, r.Int(drift.KeptAlarms))
	for i := range a.Found {
		a.Found[i] = drift.ReadFound(r)
	}
	if partition < 0 || partition >= mostAlarmed || a.Total >= MaxNumber {
		r.Fail(errors.New("alarms out of their bounds"))
	}
	return a, r.Done()
}

// applyAlarms takes the alarms of the partition that the rest of the key names.
func applyAlarms(l *Models, rest string, value []byte) {
	n := number(rest)
	if n < 0 || n >= mostAlarmed || len(value) > alarmBytes {
		return
	}
	if value == nil {
		delete(l.alarms, int32(n))
	} else if a, err := decodeAlarms(value, l.Newest); err == nil && int64(a.Partition) == n {
		l.alarms[a.Partition] = a
	}
}

// Alarms returns the alarms of all partitions, ascending by partition. They must not be changed.
func (l *Models) Alarms() []*Alarms {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Collect(maps.Values(l.alarms))
	slices.SortFunc(out, func(a, b *Alarms) int { return cmp.Compare(a.Partition, b.Partition) })
	return out
}

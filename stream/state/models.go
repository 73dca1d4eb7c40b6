package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"liftstream/model"
	"liftstream/model/wire"
	"liftstream/stream/txn"
)

// Keep bounds the newest versions that stay in the model topic; the first bound that is met holds. The newest one stays
// anyway.
type Keep struct {
	Versions int   // 0 = KeptVersions
	Bytes    int64 // of the versions as they lie in the topic; 0 = keptBytes
}

// KeptVersions is the number of newest versions that stay unless Keep has another one.
const KeptVersions = 20

// keptBytes is the bound of their bytes unless Keep has another one. It leaves room below maxModels.
const keptBytes = maxModels / 4 * 3

// beyond returns the held versions that a publication of a version of that size leaves no room for, ascending.
func (k Keep) beyond(held map[int64]Blob, published int64, size int) (out []int64) {
	bytes, most, room := int64(size), cmp.Or(int64(k.Versions), KeptVersions), cmp.Or(k.Bytes, keptBytes)
	for _, v := range slices.Backward(slices.Sorted(maps.Keys(held))) {
		bytes += int64(held[v].Packed)
		if v <= published-most || bytes > room {
			out = append(out, v)
		}
	}
	slices.Reverse(out)
	return out
}

// maxModels bounds the bytes of the model topic that a process keeps. The kept versions need less, so the rest comes
// from another writer.
const maxModels = 4 << 30

// Models is the content of the model topic. One goroutine of a process calls Advance; its tasks read at the same time.
type Models struct {
	client  *txn.Client
	topic   string
	schema  *model.Schema
	Newest  int  // newest format that is read
	KeepAll bool // deleted versions are kept, as long as compaction leaves them
	// Fingerprint is that of the configuration whose models may be ordered to serve, see Serves; 0 = any.
	Fingerprint uint64
	Keep        Keep

	mu       sync.Mutex
	values   map[string][]byte
	bytes    int64 // of values, at most maxModels
	blobs    map[int64]Blob
	times    map[int64]time.Time    // of the publication of a version
	places   map[int64]int64        // offsets of the publications
	verdicts map[int64]*GateVerdict // by slot
	orders   map[int64]*Order       // by slot
	alarms   map[int32]*Alarms      // by partition
	offer    *Blob                  // the model that waits to be published; nil = none
	given    map[int64]bool         // versions that were offers
	erasures map[int64]*Erasure     // by slot
	erasedAt int64                  // offset of the newest record of one
	broken   map[int64]error        // versions whose bytes are no model of this schema
	highest  int64                  // version
	headers  []txn.Header           // of the newest record of a version
	cache    map[int64]*model.Model
	next     int64         // written by Advance only, under mu
	failed   error         // of the last attempt to read on
	changed  chan struct{} // closed and replaced whenever records arrived
}

// NewModels returns an empty log of a model topic, whose models are of the schema s.
func NewModels(c *txn.Client, topic string, s *model.Schema) *Models {
	return &Models{client: c, topic: topic, schema: s, Newest: Format, values: map[string][]byte{},
		blobs: map[int64]Blob{}, times: map[int64]time.Time{}, verdicts: map[int64]*GateVerdict{}, broken: map[int64]error{},
		orders: map[int64]*Order{}, places: map[int64]int64{}, alarms: map[int32]*Alarms{}, given: map[int64]bool{},
		erasures: map[int64]*Erasure{},
		cache:    map[int64]*model.Model{}, changed: make(chan struct{})}
}

func versionKey(v int64) string { return "version/" + strconv.FormatInt(v, 10) }

func modelChunkKey(v int64, chunk int) string {
	return "model/" + strconv.FormatInt(v, 10) + "/" + strconv.Itoa(chunk)
}

// Advance reads on, waiting up to wait for the first record, and reports whether it has reached the last stable offset.
// It belongs to one goroutine at a time.
func (l *Models) Advance(ctx context.Context, wait time.Duration) (end bool, err error) {
	defer func() {
		l.mu.Lock()
		l.failed = err
		l.mu.Unlock()
	}()
	if l.next == 0 {
		start, _, err := l.client.Bounds(ctx, l.topic, 0)
		if err != nil {
			return false, fmt.Errorf("reading the model topic: %w", err)
		}
		l.move(start)
	}
	f, err := l.client.Fetch(ctx, l.topic, 0, l.next, 2<<20, wait)
	if txn.KindOf(err) == txn.OutOfRange {
		// The topic was truncated or made anew: the known versions stay, the rest is read from the start.
		l.move(0)
		return false, fmt.Errorf("reading the model topic from its start again: %w", err)
	}
	if err != nil {
		return false, fmt.Errorf("reading the model topic: %w", err)
	}
	l.mu.Lock()
	for i := range f.Records { // one that cannot be read has no key; Get names the chunk that is missing then
		r := &f.Records[i]
		l.apply(string(r.Key), r.Value)
		stamp(l, string(r.Key), r.Time, r.Offset)
		if r.Value != nil && bytes.HasPrefix(r.Key, []byte("version/")) {
			l.headers = r.Headers
		}
	}
	l.next = f.Next
	if len(f.Records) > 0 {
		l.wake()
	}
	l.mu.Unlock()
	return f.Next >= f.LastStable, nil
}

func (l *Models) move(offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = offset
}

// Next returns the offset from which Advance reads on.
func (l *Models) Next() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

func (l *Models) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Reach waits until Advance has read to the offset that is the last stable one now. A replay needs the versions up to
// there, and the trainer numbers the next version after them. Reach returns the error of Advance where that fails.
func (l *Models) Reach(ctx context.Context) error {
	_, end, err := l.client.Bounds(ctx, l.topic, 0)
	if err != nil {
		return fmt.Errorf("reading the model topic: %w", err)
	}
	for {
		l.mu.Lock()
		next, changed, failed := l.next, l.changed, l.failed
		l.mu.Unlock()
		if next >= end {
			return nil
		}
		if failed != nil {
			return failed
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond): // markers move next without records
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stamp takes note of the time and the offset of a record that apply has taken.
func stamp(l *Models, key string, at time.Time, offset int64) {
	kind, rest, _ := strings.Cut(key, "/")
	switch n := number(rest); kind {
	case "version":
		if _, ok := l.blobs[n]; ok {
			l.times[n], l.places[n] = at, offset
		} else {
			delete(l.times, n)
			delete(l.places, n)
		}
	case erasureKind:
		if l.erasures[n] != nil {
			l.erasedAt = offset
		}
	case "order":
		if o := l.orders[n]; o != nil && o.Offset == 0 {
			o.Offset = offset
		}
	case "verdict":
		if v := l.verdicts[n]; v != nil && v.Time.IsZero() {
			v.Time = at
		}
	}
}

// number returns the canonical number of a key, -1 when it is none in [0, maxNumber).
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n >= MaxNumber || strconv.FormatInt(n, 10) != text {
		return -1
	}
	return n
}

// apply takes one record. It leaves out records that no stage writes, so another writer of the topic cannot fill the
// memory of its readers.
func (l *Models) apply(key string, value []byte) {
	if value == nil && l.KeepAll {
		return
	}
	kind, rest, _ := strings.Cut(key, "/")
	switch kind {
	case "model":
		v, c, _ := strings.Cut(rest, "/")
		if number(v) < 0 || number(c) < 0 || len(value) > chunkBytes+5 {
			return
		}
		delete(l.broken, number(v))
		keep(l, key, value)
	case offerKey, givenKeys:
		applyOffer(l, kind, rest, value)
	case "verdict":
		slot := number(rest)
		if slot < 0 || slot >= keptVerdicts || len(value) > verdictBytes {
			return
		}
		if value == nil {
			delete(l.verdicts, slot)
		} else if v, err := decodeVerdict(value, l.Newest); err == nil && int64(v.Number%keptVerdicts) == slot {
			l.verdicts[slot] = v
		}
	case "order":
		slot := number(rest)
		if slot < 0 || slot >= keptOrders || len(value) > orderBytes {
			return
		}
		if value == nil {
			delete(l.orders, slot)
		} else if o, err := decodeOrder(value, l.Newest); err == nil && int64(o.Number%keptOrders) == slot {
			l.orders[slot] = o
		}
	case erasureKind:
		applyErasure(l, rest, value)
	case alarmKind:
		applyAlarms(l, rest, value)
	case "version":
		if v := number(rest); v > 0 {
			applyVersion(l, v, value)
		}
	}
}

// applyVersion takes the record that says of which pieces a version is made.
func applyVersion(l *Models, v int64, value []byte) {
	delete(l.broken, v)
	delete(l.cache, v)
	if value == nil {
		delete(l.blobs, v)
		return
	}
	payload, _, err := Unseal(value, l.Newest)
	if newer := (*FormatError)(nil); errors.As(err, &newer) {
		l.highest, l.broken[v] = max(l.highest, v), err // its number is taken
		return
	}
	if err != nil {
		return // another program has written it; Get says that the version is not there
	}
	r := wire.NewReader(payload)
	if written := r.Uvarint(); written != uint64(v) {
		return
	}
	b := readBlob(r)
	if r.Done() != nil || b.Length > maxModel || b.Packed > maxModel {
		return
	}
	l.blobs[v] = b
	l.highest = max(l.highest, v)
}

// Get returns a version that the topic holds. Models are immutable and shared.
func (l *Models) Get(version int64) (*model.Model, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.get(version)
}

func (l *Models) get(version int64) (*model.Model, error) {
	if m := l.cache[version]; m != nil {
		return m, nil
	}
	if err := l.broken[version]; err != nil {
		return nil, err
	}
	b, ok := l.blobs[version]
	if !ok {
		return nil, &ModelError{version, errNotHeld}
	}
	m, err := l.decode(version, b, l.schema)
	if err != nil {
		err = &ModelError{version, err}
		l.broken[version] = err // so that it is not decompressed again at each call
		return nil, err
	}
	ordered := newestOrder(l).Serve
	for v := range l.cache { // two are in use at a swap; older ones are read again in the rare case
		if v < version-1 && v != ordered {
			delete(l.cache, v)
		}
	}
	l.cache[version] = m
	return m, nil
}

// Under returns a version that was made under the schema s.
func (l *Models) Under(version int64, s *model.Schema) (*model.Model, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, ok := l.blobs[version]
	if !ok {
		return nil, &ModelError{version, errNotHeld}
	}
	m, err := l.decode(version, b, s)
	if err != nil {
		return nil, &ModelError{version, err}
	}
	return m, nil
}

// ModelError is returned where a version of the model cannot be had: the topic does not hold it, or its bytes are
// damaged.
type ModelError struct {
	Version int64
	Err     error
}

var errNotHeld = errors.New("the model topic does not hold it")

func (e *ModelError) Error() string { return fmt.Sprintf("reading model %d: %v", e.Version, e.Err) }

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }

func (l *Models) decode(version int64, b Blob, s *model.Schema) (m *model.Model, err error) {
	raw, err := unpack(b, l.Newest, func(i int) []byte { return l.values[modelChunkKey(version, i)] })
	if err != nil {
		return nil, err
	}
	err = Contain(func() error {
		m, err = model.DecodeModel(s, raw)
		return err
	})
	if err != nil {
		return nil, err
	}
	if m.Version != version {
		return nil, fmt.Errorf("its bytes are those of model %d", m.Version)
	}
	return m, nil
}

// Readable returns the newest version that can be read, nil where there is none.
func (l *Models) Readable() *model.Model {
	held := l.Versions()
	for _, v := range slices.Backward(slices.Sorted(maps.Keys(held))) {
		if m, err := l.Get(v); err == nil {
			return m
		}
	}
	return nil
}

// PublishedAt returns when a version was published, by the timestamp of its record, zero where the topic does not hold
// it.
func PublishedAt(l *Models, version int64) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times[version]
}

// Head returns the newest version, 0 where there is none, and a channel that is closed when records have arrived.
func (l *Models) Head() (int64, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.highest, l.changed
}

// Headers returns the headers of the newest record that names a version.
func (l *Models) Headers() []txn.Header {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.headers
}

// Versions returns the held versions, unordered.
func (l *Models) Versions() map[int64]Blob {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[int64]Blob, len(l.blobs))
	for v, b := range l.blobs {
		out[v] = b
	}
	return out
}

// Publication returns the records that publish m and delete the versions that are neither among the newest, which Keep
// bounds, nor in needed. A model that no process would read is an error.
func (l *Models) Publication(
	p *Packer, m *model.Model, needed map[int64]bool, now time.Time, format int,
) ([]txn.Record, error) {
	raw := m.AppendBinary(nil)
	b, frames := p.pack(raw, format)
	if b.Length > maxModel || b.Packed > maxModel {
		return nil, fmt.Errorf("model %d takes %d bytes, above the limit of %d", m.Version, b.Length, maxModel)
	}
	var out []txn.Record
	put := func(key string, value []byte) {
		out = append(out, txn.Record{Topic: l.topic, Key: []byte(key), Value: value, Time: now})
	}
	for i, f := range frames {
		put(modelChunkKey(m.Version, i), f)
	}
	put(versionKey(m.Version), Seal(b.AppendBinary(wire.AppendUvarint(nil, uint64(m.Version))), format))
	old := l.Keep.beyond(l.Versions(), m.Version, b.Packed)
	old = slices.DeleteFunc(old, func(v int64) bool { return needed[v] })
	return append(out, Deletion(l, old, now)...), nil
}

// Deletion returns the records that delete versions.
func Deletion(l *Models, versions []int64, now time.Time) (out []txn.Record) {
	held := l.Versions()
	put := func(key string) { out = append(out, txn.Record{Topic: l.topic, Key: []byte(key), Time: now}) }
	for _, v := range versions {
		put(versionKey(v))
		if wasGiven(l, v) {
			put(givenKey(v))
		}
		for c := range held[v].Chunks {
			put(modelChunkKey(v, c))
		}
	}
	return out
}

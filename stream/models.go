package stream

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"liftstream/model"
	"liftstream/model/wire"
	"liftstream/stream/txn"
)

// keptModels is the number of newest versions that stay in the model topic whatever else needs them.
const keptModels = 20

// modelLog is the live content of the model topic, followed by one goroutine of a process and read by its tasks.
type modelLog struct {
	client *txn.Client
	topic  string
	schema *model.Schema

	mu      sync.Mutex
	values  map[string][]byte
	blobs   map[int64]blob
	newest  int64
	cache   map[int64]*model.Model
	next    int64
	changed chan struct{} // closed and replaced whenever something arrived
}

func newModelLog(c *txn.Client, topic string, s *model.Schema) *modelLog {
	return &modelLog{client: c, topic: topic, schema: s, values: map[string][]byte{}, blobs: map[int64]blob{},
		cache: map[int64]*model.Model{}, changed: make(chan struct{})}
}

func versionKey(v int64) string { return "version/" + strconv.FormatInt(v, 10) }

func modelChunkKey(v int64, chunk int) string {
	return "model/" + strconv.FormatInt(v, 10) + "/" + strconv.Itoa(chunk)
}

// advance reads what is there from where it stopped, waiting up to wait for the first record. It returns whether it has
// reached the end of what is committed.
func (l *modelLog) advance(ctx context.Context, wait time.Duration) (end bool, err error) {
	if l.next == 0 {
		start, _, err := bounds(ctx, l.client, l.topic, 0)
		if err != nil {
			return false, fmt.Errorf("reading the model topic: %w", err)
		}
		l.next = start
	}
	f, err := l.client.Fetch(ctx, l.topic, 0, l.next, 8<<20, wait)
	if err != nil {
		return false, fmt.Errorf("reading the model topic: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range f.Records {
		l.apply(string(f.Records[i].Key), f.Records[i].Value)
	}
	l.next = f.Next
	if len(f.Records) > 0 {
		close(l.changed)
		l.changed = make(chan struct{})
	}
	return f.Next >= f.LastStable, nil
}

func (l *modelLog) apply(key string, value []byte) {
	rest, isVersion := strings.CutPrefix(key, "version/")
	switch {
	case !isVersion && value == nil:
		delete(l.values, key)
	case !isVersion:
		l.values[key] = value
	default:
		v, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			return
		}
		if value == nil {
			delete(l.blobs, v)
			delete(l.cache, v)
			return
		}
		payload, err := open(value)
		if err != nil {
			return // written by something else; get says that the version is not there
		}
		r := wire.NewReader(payload)
		if number := r.Uvarint(); int64(number) != v {
			return
		}
		b := readBlob(r)
		if r.Done() != nil {
			return
		}
		l.blobs[v] = b
		l.newest = max(l.newest, v)
	}
}

// get returns a version that the topic holds. Models are immutable and shared.
func (l *modelLog) get(version int64) (*model.Model, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.cache[version]; m != nil {
		return m, nil
	}
	b, ok := l.blobs[version]
	if !ok {
		return nil, fmt.Errorf("reading model %d: the model topic does not hold it", version)
	}
	raw, err := unpack(b, func(i int) []byte { return l.values[modelChunkKey(version, i)] })
	if err != nil {
		return nil, fmt.Errorf("reading model %d: %w", version, err)
	}
	m, err := model.DecodeModel(l.schema, raw)
	if err != nil {
		return nil, fmt.Errorf("reading model %d: %w", version, err)
	}
	for v := range l.cache { // two are in use at a swap; older ones are read again in the rare case
		if v < version-1 {
			delete(l.cache, v)
		}
	}
	l.cache[version] = m
	return m, nil
}

// head returns the newest version, 0 when there is none, and a channel that is closed when something has arrived.
func (l *modelLog) head() (int64, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest, l.changed
}

// versions returns the versions held, unordered.
func (l *modelLog) versions() map[int64]blob {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[int64]blob, len(l.blobs))
	for v, b := range l.blobs {
		out[v] = b
	}
	return out
}

// publication returns the records that publish m and delete the versions that nobody needs: neither among the newest
// keptModels nor in needed.
func (l *modelLog) publication(p *packer, m *model.Model, needed map[int64]bool) []txn.Record {
	b, frames := p.pack(m.AppendBinary(nil))
	var out []txn.Record
	put := func(key string, value []byte) {
		out = append(out, txn.Record{Topic: l.topic, Key: []byte(key), Value: value})
	}
	for i, f := range frames {
		put(modelChunkKey(m.Version, i), f)
	}
	put(versionKey(m.Version), seal(b.append(wire.AppendUvarint(nil, uint64(m.Version)))))
	old := l.versions()
	for _, v := range sortedKeys(old) {
		if v > m.Version-keptModels || needed[v] {
			continue
		}
		put(versionKey(v), nil)
		for c := range old[v].chunks {
			put(modelChunkKey(v, c), nil)
		}
	}
	return out
}

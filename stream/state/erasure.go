package state

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"liftstream/model"
	"liftstream/model/wire"
	"liftstream/stream/txn"
)

const (
	// ErasureIDs bounds the ids of one order to forget, and erasureKeys the keys of prototypes: a model has at most 65,536
	// of local.prototypes and 512 of a product of the kernel. Ids and keys together stay below the MiB of a usual topic.
	ErasureIDs  = 10_000
	erasureKeys = 1<<16 + 512
	// keptErasures is the number of newest orders to forget that stay in the model topic.
	keptErasures = 32
	// erasureBytes bounds the value of one, and erasedBytes that of a record of an obeyed one.
	erasureBytes = 16*ErasureIDs + 10*erasureKeys + orderBytes
	erasedBytes  = erasureBytes + 10*erasureKeys

	erasureKind = "forget"
	erasedKind  = "erased"
)

// ErasedKeys begins the keys of the records of obeyed orders to forget.
const ErasedKeys = erasedKind + "/"

// Erasure is a person's order to forget ids, in the model topic. Once all partitions have obeyed it, and no snapshot
// with the records is left, an emptied one takes its place: it holds the number alone.
type Erasure struct {
	model.Erasure
	Emptied     bool
	Time        time.Time
	Client, Why string // who gave it, from where, and the reason
}

// ErasureKey returns the key of the order of that number.
func ErasureKey(number uint64) string {
	return erasureKind + "/" + strconv.FormatUint(number%keptErasures, 10)
}

// Record returns the record of the order in that model topic.
func (e *Erasure) Record(topic string) txn.Record {
	b := wire.AppendBool(wire.AppendUvarint(nil, e.Number), e.Emptied)
	b = wire.AppendVarint(b, e.Time.UnixNano())
	b = wire.AppendString(wire.AppendString(b, cut(e.Client)), cut(e.Why))
	b = appendErasure(b, &e.Erasure)
	return txn.Record{Topic: topic, Key: []byte(ErasureKey(e.Number)), Value: Seal(b, OldestFormat), Time: e.Time}
}

// Empty returns the order without its ids.
func (e *Erasure) Empty() *Erasure {
	return &Erasure{Erasure: model.Erasure{Number: e.Number}, Emptied: true, Time: e.Time}
}

func decodeErasure(value []byte, newest int) (*Erasure, error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(payload)
	e := &Erasure{Erasure: model.Erasure{Number: r.Uvarint()}, Emptied: r.Bool()}
	e.Time = time.Unix(0, r.Varint()).UTC()
	e.Client, e.Why = r.String(), r.String()
	readErasure(r, &e.Erasure)
	if e.Number == 0 || e.Number >= MaxNumber {
		r.Fail(errors.New("an order out of its bounds"))
	}
	return e, r.Done()
}

// appendErasure appends ids and keys.
func appendErasure(b []byte, e *model.Erasure) []byte {
	b = wire.AppendUvarint(b, uint64(len(e.IDs)))
	for _, id := range e.IDs {
		b = append(b, id[:]...)
	}
	return appendKeys(b, e.Keys)
}

func readErasure(r *wire.Reader, e *model.Erasure) {
	for n := r.Int(ErasureIDs); n > 0 && r.Err() == nil; n-- {
		var id model.IDSum
		copy(id[:], r.Take(len(id)))
		e.IDs = append(e.IDs, id)
	}
	e.Keys = readKeys(r)
}

func appendKeys(b []byte, keys []uint64) []byte {
	keys = keys[:min(len(keys), erasureKeys)]
	b = wire.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = wire.AppendUvarint(b, k)
	}
	return b
}

func readKeys(r *wire.Reader) (keys []uint64) {
	for n := r.Int(erasureKeys); n > 0 && r.Err() == nil; n-- {
		keys = append(keys, r.Uvarint())
	}
	return keys
}

// applyErasure takes one record of the model topic.
func applyErasure(l *Models, rest string, value []byte) {
	slot := number(rest)
	if slot < 0 || slot >= keptErasures || len(value) > erasureBytes {
		return
	}
	if value == nil {
		delete(l.erasures, slot)
	} else if e, err := decodeErasure(value, l.Newest); err == nil && int64(e.Number%keptErasures) == slot {
		l.erasures[slot] = e
	}
}

// Erasures returns the last orders to forget, oldest first. They must not be changed.
func Erasures(l *Models) []*Erasure {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Collect(maps.Values(l.erasures))
	slices.SortFunc(out, func(a, b *Erasure) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// NextErasure returns the oldest order of a number above after that is not emptied, nil where there is none.
func NextErasure(l *Models, after uint64) (next *Erasure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.erasures {
		if !e.Emptied && e.Number > after && (next == nil || e.Number < next.Number) {
			next = e
		}
	}
	return next
}

// LastErasure is the number of the newest order to forget, emptied or not, and open that of the newest one that is not
// emptied; 0 = there is none.
func LastErasure(l *Models) (last, open uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.erasures {
		if last = max(last, e.Number); !e.Emptied {
			open = max(open, e.Number)
		}
	}
	return last, open
}

// BeforeErasures returns the held versions that were published before the newest order to forget was given or emptied,
// ascending, the newest version left out: they may hold a forgotten record.
func BeforeErasures(l *Models) (out []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for v := range l.blobs {
		if v != l.highest && l.places[v] < l.erasedAt {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// OpenErasure reports whether the order of that number is there and not emptied.
func OpenErasure(l *Models, number uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.erasures[int64(number%keptErasures)]
	return e != nil && e.Number == number && !e.Emptied
}

// Erased says that a transaction has obeyed an order to forget, beside its journal record, so that a replay obeys it at
// the same point, and counts the findings. Once no snapshot before it is left, an emptied one takes its place.
type Erased struct {
	Journal uint64 // number of the journal record
	model.Erasure
	Emptied bool // no replay can pass it: ids and keys are gone, but for Keys as long as the order is open
	Found   model.Forgotten
	Keys    []uint64 // of the prototypes that were found by the ids
}

// ErasedKey returns the key of the record beside the journal record with that number.
func ErasedKey(number uint64) string {
	return ErasedKeys + strconv.FormatUint(number%JournalRing, 10)
}

// Encode returns the value of the record.
func (e *Erased) Encode(format int) []byte {
	b := wire.AppendUvarint(nil, e.Journal)
	b = wire.AppendBool(wire.AppendUvarint(b, e.Number), e.Emptied)
	for _, n := range e.Found.Counted()[:foundCounts] {
		b = wire.AppendUvarint(b, uint64(*n))
	}
	b = appendKeys(appendErasure(b, &e.Erasure), e.Keys)
	if e.Found.Recency > 0 {
		b = wire.AppendUvarint(b, uint64(e.Found.Recency))
	}
	return Seal(b, format)
}

// foundCounts are the findings that each record has, and mostFound bounds each. The ids of the recency stand at the end
// where there are any.
const (
	foundCounts = 7
	mostFound   = 1 << 40
)

// Names reports whether the record names ids, or keys.
func (e *Erased) Names() bool { return len(e.IDs) > 0 || len(e.Erasure.Keys) > 0 || len(e.Keys) > 0 }

// Empty returns the record without its ids.
func (e *Erased) Empty() *Erased {
	return &Erased{Journal: e.Journal, Erasure: model.Erasure{Number: e.Number}, Emptied: true, Found: e.Found}
}

// DecodeErased is the inverse of Encode, for a reader of formats up to newest.
func DecodeErased(value []byte, newest int) (*Erased, error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(payload)
	e := &Erased{Journal: r.Uvarint(), Erasure: model.Erasure{Number: r.Uvarint()}, Emptied: r.Bool()}
	for _, n := range e.Found.Counted()[:foundCounts] {
		*n = r.Int(mostFound)
	}
	readErasure(r, &e.Erasure)
	e.Keys = readKeys(r)
	if r.Err() == nil && r.Rest() > 0 {
		if e.Found.Recency = r.Int(mostFound); e.Found.Recency == 0 {
			r.Fail(errors.New("ids of the recency that are none"))
		}
	}
	return e, r.Done()
}

// Erased returns the readable records of obeyed orders to forget, in the order of the journal.
func (l *Log) Erased() (out []*Erased) {
	for key, value := range l.values {
		if !strings.HasPrefix(key, ErasedKeys) {
			continue
		}
		if e, err := DecodeErased(value, l.Newest); err == nil && key == ErasedKey(e.Journal) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *Erased) int { return cmp.Compare(a.Journal, b.Journal) })
	return out
}

// erased returns the order to forget that the transaction of a journal record has obeyed, nil where it has none.
func (l *Log) erased(n uint64) (*Erased, error) {
	v, ok := l.values[ErasedKey(n)]
	if !ok {
		return nil, nil
	}
	e, err := DecodeErased(v, l.Newest)
	if err != nil || e.Journal != n {
		return nil, err
	}
	return e, nil
}

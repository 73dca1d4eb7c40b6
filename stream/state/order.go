package state

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"liftstream/model/wire"
	"liftstream/stream/txn"
)

const (
	// keptOrders is the number of newest orders that stay in the model topic.
	keptOrders = 32
	// orderText bounds the bytes of a text in an order.
	orderText = 500
	// orderBytes bounds the value of one.
	orderBytes = 2 << 10
)

// Order is a person's wish for the models of a stage. Each order holds all wishes of its time, those of the orders
// before included: the newest one tells everything, and the others are the log.
type Order struct {
	Number uint64 // counts all orders of the topic, from 1
	Verb   string // of the command: pin, unpin, rollback, freeze, unfreeze, publish, trust
	// Serve is the version that serves while no version above Until is published, 0 = the newest. Until 0: until the next
	// order.
	Serve, Until int64
	// Return says that Serve serves as it was published, without the later counts of the partitions; else each partition
	// brings its own, where its tail reaches back so far.
	Return bool
	// Frozen stops the fits, Still the fits and all learning.
	Frozen, Still bool
	Time          time.Time
	Client, Why   string // who gave it, from where, and the reason
	Offset        int64  // of its record in the model topic; its value has none
}

// VerbTrust is the verb of an order that has an effect by itself, see Models.Trusted.
const VerbTrust = "trust"

// verbRollback is that of an order to return to a version.
const verbRollback = "rollback"

// Trusted reports whether a person has said, since the newest version was published, that the labels are right. It goes
// by the order of the records in the topic, and by no clock.
func (l *Models) Trusted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.orders {
		if o.Verb == VerbTrust && o.Offset > l.places[l.highest] {
			return true
		}
	}
	return false
}

func orderKey(number uint64) string { return "order/" + strconv.FormatUint(number%keptOrders, 10) }

// cut returns a text of at most orderText bytes.
func cut(s string) string {
	for len(s) > orderText {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

// Record returns the record of the order in that model topic.
func (o *Order) Record(topic string) txn.Record {
	b := wire.AppendUvarint(nil, o.Number)
	b = wire.AppendString(b, o.Verb)
	b = wire.AppendVarint(b, o.Serve)
	b = wire.AppendVarint(b, o.Until)
	for _, v := range []bool{o.Return, o.Frozen, o.Still} {
		b = wire.AppendBool(b, v)
	}
	b = wire.AppendVarint(b, o.Time.UnixNano())
	b = wire.AppendString(b, cut(o.Client))
	b = wire.AppendString(b, cut(o.Why))
	return txn.Record{Topic: topic, Key: []byte(orderKey(o.Number)), Value: Seal(b, OldestFormat), Time: o.Time}
}

// ReadOrder reads the value of a record of the model topic whose key begins with "order/".
func ReadOrder(value []byte) (*Order, error) { return decodeOrder(value, Format) }

func decodeOrder(value []byte, newest int) (*Order, error) {
	payload, _, err := Unseal(value, newest)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(payload)
	o := &Order{Number: r.Uvarint(), Verb: r.String(), Serve: r.Varint(), Until: r.Varint(), Return: r.Bool(),
		Frozen: r.Bool(), Still: r.Bool()}
	o.Time = time.Unix(0, r.Varint()).UTC()
	o.Client, o.Why = r.String(), r.String()
	if o.Number >= MaxNumber || o.Serve < 0 || o.Until < 0 {
		r.Fail(errors.New("an order out of its bounds"))
	}
	return o, r.Done()
}

// Orders returns the last orders, oldest first. They must not be changed.
func (l *Models) Orders() []*Order {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Collect(maps.Values(l.orders))
	slices.SortFunc(out, func(a, b *Order) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// Order returns the newest order, the zero value where there is none.
func (l *Models) Order() Order {
	l.mu.Lock()
	defer l.mu.Unlock()
	return newestOrder(l)
}

func newestOrder(l *Models) (newest Order) {
	for _, o := range l.orders {
		if o.Number > newest.Number {
			newest = *o
		}
	}
	return newest
}

// Serving says which version serves.
type Serving struct {
	Version int64  // 0 = none is published
	Order   uint64 // number of the order that names it, 0 = it is the newest by itself
	Return  bool   // see Order.Return
	By      uint64 // number of the order to return, 0 = it is not known any more, or the version is served only so
}

// Serves returns the version that is to serve: that of the newest order, else the newest one. An order for a version
// that cannot be read, or is of another configuration than Fingerprint, is passed over.
func (l *Models) Serves() Serving {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := newestOrder(l)
	if o.Serve > 0 && (o.Until == 0 || l.highest <= o.Until) && usable(l, o.Serve) {
		s := Serving{Version: o.Serve, Order: o.Number, Return: o.Return}
		for _, past := range l.orders {
			if o.Return && past.Verb == verbRollback {
				s.By = max(s.By, past.Number)
			}
		}
		return s
	}
	if l.given[l.highest] {
		return Serving{Version: l.highest, Order: max(o.Number, 1), Return: true}
	}
	return Serving{Version: l.highest}
}

// usable reports whether a version can serve.
func usable(l *Models, version int64) bool {
	m, err := l.get(version)
	return err == nil && (l.Fingerprint == 0 || m.Fingerprint == l.Fingerprint)
}

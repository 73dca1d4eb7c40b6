package pairs

import (
	"strings"

	"liftstream/model"
)

// waiting is a record in the store.
type waiting struct {
	Record
	id      string
	since   int64
	counted bool // it has its class; another label is a repeated one
	late    bool // the class, which counts when the window closes, came by the labels topic
}

func (w *waiting) size() int64 { return int64(8*(len(w.First)+len(w.Second))+2*len(w.id)) + 320 }

// name is the way in which a label names its record: by id, or by position.
type name struct {
	byID   bool
	id     string
	offset int64
	row    int32
}

func (n *name) size() int64 { return int64(len(n.id)) + 64 }

// kept is a label whose record has not come yet.
type kept struct {
	name
	class int32
	at    int64 // time of its message, 0 = none
}

// store holds the records of a partition that wait for their labels, and counted ones as long as another label may
// come: a queue in the order of arrival, bounded in bytes. Labels without a record have half of the bound.
type store struct {
	limit, bytes int64
	queue        []*waiting
	byName       map[name]*waiting
	kept         []kept
	keptBytes    int64
}

func newStore(limit int64) *store { return &store{limit: limit, byName: map[name]*waiting{}} }

// admit copies a record into the store.
func (s *store) admit(x *Record, id string, now int64, counted bool) {
	w := &waiting{Record: *x, id: strings.Clone(id), since: now, counted: counted}
	if w.Class < 0 {
		w.Class = model.Unlabelled
	}
	w.First = append([]float64(nil), x.First...)
	w.Second = append([]float64(nil), x.Second...)
	s.queue = append(s.queue, w)
	s.bytes += w.size()
	s.byName[w.place()] = w
	if w.id != "" { // labels mean the newest record of the id
		s.byName[name{byID: true, id: w.id}] = w
	}
}

func (w *waiting) place() name { return name{offset: w.Offset, row: w.Row} }

func (s *store) find(n name) *waiting { return s.byName[n] }

// keep holds a label for later, and reports whether there was room.
func (s *store) keep(n name, class int32, at int64) bool {
	if s.keptBytes += n.size(); s.keptBytes > s.limit/2 {
		s.keptBytes -= n.size()
		return false
	}
	n.id = strings.Clone(n.id)
	s.kept = append(s.kept, kept{n, class, at})
	return true
}

// overdue takes the oldest record out if it has waited for longer than window, 0 = for ever, or if there is no room,
// and tells which; nil where there is none.
func (s *store) overdue(now, window int64) (w *waiting, late bool) {
	if len(s.queue) == 0 {
		return nil, false
	}
	w = s.queue[0]
	if late = window > 0 && w.since < now-window; !late && s.bytes <= s.limit {
		return nil, false
	}
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.bytes -= w.size()
	delete(s.byName, w.place())
	if n := (name{byID: true, id: w.id}); s.byName[n] == w {
		delete(s.byName, n)
	}
	return w, late
}

// rest is the records that are left, in the order of arrival.
func (s *store) rest() []*waiting { return s.queue }

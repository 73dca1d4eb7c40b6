package drift

import (
	"cmp"
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// AlarmKind is the kind of a difference.
type AlarmKind int

// Kinds of alarms.
const (
	Values          AlarmKind = iota // the present values of a column
	Gaps                             // its share of missing values
	OverPromise                      // the log-loss is above the one that the propensities promise,
	UnderPromise                     // or below it
	OverExpectation                  // it is above the expectation of the model
)

// String is the name of the kind in metrics, topics and JSON.
func (k AlarmKind) String() string {
	return [...]string{"values", "missing", "over_promise", "under_promise", "over_expectation"}[k]
}

// MarshalText returns String.
func (k AlarmKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText takes the words of MarshalText, and refuses all others.
func (k *AlarmKind) UnmarshalText(text []byte) error {
	for x := Values; x <= OverExpectation; x++ {
		if x.String() == string(text) {
			*k = x
			return nil
		}
	}
	return fmt.Errorf("reading an alarm: its kind is %q", text)
}

// Names of the columns that are no features.
const (
	PropensityColumn = "(propensity)" // of the target, or of the likeliest class where there is none
	LabelledColumn   = "(labelled)"   // missing: the record came without its label
	ClassColumn      = "(class)"      // of labels, as they come
	LossColumn       = "(loss)"
)

// Found is an alarm of a Watch.
type Found struct {
	Number    uint64    `json:"number"` // counts the alarms of the watch, from 1
	Kind      AlarmKind `json:"kind"`
	Column    string    `json:"column"`
	Records   int64     `json:"records"`   // scored up to the alarm
	Value     float64   `json:"value"`     // the PSI, or the mean log-loss
	Threshold float64   `json:"threshold"` // Value exceeds it; of a promise the promised log-loss
}

// KeptAlarms is the number of newest alarms that a watch keeps.
const KeptAlarms = 16

// heldNumbers bounds the propensities of scored records that a watch holds until their labels come.
const heldNumbers = 1 << 17

// WatchOptions say how a Watch works.
type WatchOptions struct {
	MonitorOptions // FalseAlarms is that of all alarms of the watch together
	Features       []Column
	Classes        []string
	Target         int  // class whose propensity is watched and ranked; -1 = that of the likeliest class, not ranked
	Late           bool // labels may come later than their records
}

// Watch watches the records, the scores and the labels of one partition: a Monitor of the features, of the share of
// labelled records and of the propensity, a Monitor of the classes of labels, and the losses of scores. All their
// alarms share one rate of false ones. It is a function of its calls: equal ones give equal alarms and equal
// bytes. It belongs to one caller at a time.
type Watch struct {
	o       WatchOptions
	records *Monitor // the features, (labelled), (propensity)
	labels  *Monitor
	losses  *losses
	scored  []promised // of the newest whole steps of scored records, oldest first
	filling promised
	held    held
	last    struct { // the last scored record
		place
		p        []float64 // as float32; empty = the score is no more than a base rate
		labelled bool
	}
	given  ring // newest propensities of the target
	pairs  ring // newest labelled ones, each negated where the class is another one
	served uint64
	total  uint64
	found  []Found // the newest KeptAlarms, oldest first
}

// promised is the number of scored records of a step, and the sum of the losses that their propensities promise.
type promised struct{ n, loss float64 }

// place is where a record stands in its stream. Records come in ascending order of place.
type place struct {
	offset int64
	row    int32
}

func (a place) compare(b place) int {
	return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.row, b.row))
}

// held is a ring of scored records that wait for their labels.
type held struct {
	at     []place
	p      []float32 // by record and class
	first  uint64    // number of the oldest record, counted from the first that was ever held
	n, top int       // records, at most top
}

// ring holds the newest numbers.
type ring struct {
	v  []float32
	at int // of the oldest one, once it is full
}

func (x *ring) add(v float32, most int) {
	if len(x.v) < most {
		x.v = append(x.v, v)
		return
	}
	x.v[x.at] = v
	x.at = (x.at + 1) % len(x.v)
}

// NewWatch returns a watch that has seen nothing. It panics on options out of their bounds.
func NewWatch(o WatchOptions) *Watch {
	if !o.valid() || len(o.Classes) < 2 || o.Target >= len(o.Classes) {
		panic("drift: WatchOptions out of bounds")
	}
	w := &Watch{o: o}
	columns := append([]Column{}, o.Features...)
	columns = append(columns, Column{Name: LabelledColumn, Kind: Levels}, Column{Name: PropensityColumn, OfModel: true})
	share := func(comparisons int) MonitorOptions {
		m := o.MonitorOptions
		m.FalseAlarms *= float64(comparisons) / float64(w.comparisons())
		return m
	}
	w.records = NewMonitor(columns, share(2*len(columns)))
	w.labels = NewMonitor([]Column{{Name: ClassColumn, Kind: Levels}}, share(2))
	w.losses = newLosses(o.MonitorOptions)
	w.held.top = max(heldNumbers/len(o.Classes), 1)
	return w
}

// comparisons is the number of comparisons at a step, over all columns.
func (w *Watch) comparisons() int { return 2*(len(w.o.Features)+2) + 2 + lossComparisons }

// Number sets the value of feature f of the next record; NaN and infinite numbers are missing.
func (w *Watch) Number(f int, v float64) { w.records.Number(f, v) }

// Level sets the level of feature f of the next record.
func (w *Watch) Level(f int, text string, present bool) { w.records.Level(f, text, present) }

// Scored ends a record, each feature of which was set once. p are its propensities, empty where the score is no more
// than a base rate; labelled says that its label came with it, and Learned follows.
func (w *Watch) Scored(offset int64, row int32, p []float64, labelled bool) {
	w.last.place, w.last.labelled, w.last.p = place{offset, row}, labelled, w.last.p[:0]
	for _, x := range p {
		w.last.p = append(w.last.p, float64(float32(x))) // as later labels will find them
	}
	w.records.Level(len(w.o.Features), "", labelled)
	propensity := math.NaN()
	if len(p) > 0 {
		c := w.o.Target
		if c < 0 {
			for i := range p {
				if c < 0 || p[i] > p[c] {
					c = i
				}
			}
		}
		propensity = w.blurred(p[c])
		if w.o.Target >= 0 {
			w.given.add(float32(p[c]), w.o.Reference)
		}
		mean, _ := w.losses.promise(p, -1)
		w.promise(mean)
		if w.o.Late && !labelled {
			w.hold()
		}
	}
	w.records.Number(len(w.o.Features)+1, propensity)
	w.note(w.records.Next())
}

// promise takes the loss that a score promises.
func (w *Watch) promise(loss float64) {
	w.filling.n, w.filling.loss = w.filling.n+1, w.filling.loss+loss
	if w.filling.n < float64(w.o.Step) {
		return
	}
	if len(w.scored) == max(w.o.Reference/w.o.Step, 1) {
		w.scored = append(w.scored[:0], w.scored[1:]...)
	}
	w.scored, w.filling = append(w.scored, w.filling), promised{}
}

// hold keeps the last scored record until its label comes. The oldest one goes where there is no room.
func (w *Watch) hold() {
	h := &w.held
	if h.n > 0 && w.last.compare(h.at[h.slot(h.n-1)]) <= 0 {
		h.first, h.n = h.first+uint64(h.n), 0 // another stream
	}
	if h.n == h.top {
		h.first, h.n = h.first+1, h.n-1
	}
	s, k := h.slot(h.n), len(w.o.Classes)
	for len(h.at) <= s {
		h.at, h.p = append(h.at, place{}), append(h.p, make([]float32, k)...)
	}
	h.at[s] = w.last.place
	for c, x := range w.last.p {
		h.p[s*k+c] = float32(x)
	}
	h.n++
}

// slot is where the i-th oldest record lies.
func (h *held) slot(i int) int { return int((h.first + uint64(i)) % uint64(h.top)) }

// Learned takes the class of a record, which was scored as the last one or some time before; one that is no longer
// held, or was scored by a base rate, tells its class alone.
func (w *Watch) Learned(offset int64, row int32, class int32) {
	if class < 0 || int(class) >= len(w.o.Classes) {
		return
	}
	w.labels.Level(0, w.o.Classes[class], true)
	at, own := place{offset, row}, true
	p := w.last.p
	if !w.last.labelled || w.last.place != at {
		p = nil
		h := &w.held
		i := sort.Search(h.n, func(i int) bool { return h.at[h.slot(i)].compare(at) >= 0 })
		if i < h.n && h.at[h.slot(i)] == at {
			k, s := len(w.o.Classes), h.slot(i)
			for _, x := range h.p[s*k : (s+1)*k] {
				p = append(p, float64(x))
			}
			own = h.first+uint64(i) >= w.served
		}
	}
	if len(p) > 0 {
		for _, f := range w.losses.add(p, int(class), own, w.comparisons()) {
			w.raise(f)
		}
		if w.o.Target >= 0 {
			w.pair(p[w.o.Target], int(class) == w.o.Target)
		}
	}
	w.note(w.labels.Next())
}

// pair keeps a labelled propensity of the target, which is above 0.
func (w *Watch) pair(p float64, hit bool) {
	v := max(float32(p), math.SmallestNonzeroFloat32)
	if !hit {
		v = -v
	}
	w.pairs.add(v, w.o.Reference)
}

// Blur is the standard deviation, in log-odds, by which propensities are blurred before they are compared: a shift of
// all of them by less means little, however narrow their distribution is.
const Blur = .5

// normal are quantiles of the normal distribution, in equal steps of the chance.
var normal = func() (z [256]float64) {
	for i := range z {
		z[i] = distuv.UnitNormal.Quantile((float64(i) + .5) / float64(len(z)))
	}
	return z
}()

// blurred is the log-odds of a propensity plus Blur times a normal number, which the number of the record draws.
func (w *Watch) blurred(p float64) float64 {
	h := uint64(w.records.records+1) * 0x9e3779b97f4a7c15 // splitmix64
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	p = min(max(p, Clip), 1-Clip)
	return math.Log(p/(1-p)) + Blur*normal[h>>56]
}

// note takes the alarms of a monitor.
func (w *Watch) note(alarms []Alarm) {
	for _, a := range alarms {
		f := Found{Kind: Values, Column: a.Column, Value: a.PSI, Threshold: a.Threshold}
		if a.Missing {
			f.Kind = Gaps
		}
		w.raise(f)
	}
}

func (w *Watch) raise(f Found) {
	w.total++
	f.Number, f.Records = w.total, w.records.records
	if len(w.found) == KeptAlarms {
		w.found = append(w.found[:0], w.found[1:]...)
	}
	w.found = append(w.found, f)
}

// Refit says that another model serves from the next record on: the newest records are the reference of the features,
// and the losses so far plus difference, its log-loss less that of the model before on the same records, are expected
// of it; NaN = they were not compared. Raised alarms end.
func (w *Watch) Refit(difference float64) {
	w.records.Refit()
	w.labels.Refit()
	w.losses.refit(difference)
	w.served = w.held.first + uint64(w.held.n)
}

// Records is the number of records scored so far.
func (w *Watch) Records() int64 { return w.records.records }

// Total is the number of alarms so far.
func (w *Watch) Total() uint64 { return w.total }

// Found returns the alarms after the first n, as far as they are kept, oldest first. They are valid until the next call
// of another method.
func (w *Watch) Found(n uint64) []Found {
	if n >= w.total {
		return nil
	}
	return w.found[max(len(w.found)-int(min(w.total-n, KeptAlarms)), 0):]
}

package assemble

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// sevenDaysText has all features of the records of bank marketing, with an id each.
const sevenDaysText = `
name: bank
record:
  id: customer
  label: {column: class, classes: ["no", "yes"], positive: "yes"}
  features:
    - {name: age, kind: continuous}
    - {name: job, kind: nominal}
    - {name: marital, kind: nominal}
    - {name: education, kind: nominal}
    - {name: default, kind: nominal}
    - {name: balance, kind: continuous}
    - {name: housing, kind: nominal}
    - {name: loan, kind: nominal}
    - {name: contact, kind: nominal}
    - {name: day, kind: continuous}
    - {name: month, kind: nominal}
    - {name: duration, kind: continuous}
    - {name: campaign, kind: continuous}
    - {name: pdays, kind: continuous}
    - {name: previous, kind: continuous}
    - {name: poutcome, kind: nominal}
fit: {warmup: 400}
labels: {}
output: {why: 0}
local: off
kernel: off
trees: off
`

// sevenDays is a partition of six that share 100 events a second, or a part of them. A fifth of the records has its
// label between minutes and seven days later, the others never.
type sevenDays struct {
	gap    time.Duration // between two messages
	p      *model.Partition
	all    *model.Batch
	scores model.Scores
	from   int           // number of the next record
	due    map[int][]int // messages whose labels come with a message
}

const dayMessage = 250 // records of a message: one in 15 seconds are 100/6 records a second

// step gives the partition message k and the labels that are due with it.
func (d *sevenDays) step(k int) model.LabelCounts {
	row := d.from % (d.all.N - dayMessage)
	b := d.all.Slice(row, dayMessage)
	b.Label, b.Row = make([]int32, dayMessage), make([]int32, dayMessage)
	b.ID, b.Time = make([]string, dayMessage), make([]int64, dayMessage)
	b.Offset = int64(k)
	for i := range dayMessage {
		b.Label[i], b.Row[i] = model.Unlabelled, int32(i)
		b.ID[i], b.Time[i] = "c"+strconv.Itoa(d.from+i), int64(k)*int64(d.gap)
	}
	d.p.Events(&b, &d.scores)
	d.from += dayMessage
	window := uint64(7 * 24 * time.Hour / d.gap)
	at := k + 1 + int(model.Hash(5, uint64(k))%(window-2))
	d.due[at] = append(d.due[at], k)
	var l model.Labels
	for _, of := range d.due[k] {
		for i := int(model.Hash(6, uint64(of)) % 5); i < dayMessage; i += 5 {
			l.ID = append(l.ID, "c"+strconv.Itoa(of*dayMessage+i))
			l.Class = append(l.Class, d.all.Label[(of*dayMessage)%(d.all.N-dayMessage)+i])
			l.Time = append(l.Time, int64(k)*int64(d.gap))
			l.N++
		}
	}
	delete(d.due, k)
	return d.p.Labels(&l)
}

// TestSevenDaysOfLabelsFitTheDefaults: of 100 events a second over six partitions, bank marketing with ids that end in
// a number, none leaves the pending store before its window has closed, in nine days of simulated time. Every label
// finds its record. Without LIFTSTREAM_LONG it is a sixteenth of the events in a sixteenth of labels.max_bytes.
func TestSevenDaysOfLabelsFitTheDefaults(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED under -short: 810,000 records")
	}
	modeltest.Computes(t)
	const days = 9
	part := 16
	if os.Getenv("LIFTSTREAM_LONG") != "" {
		part = 1
	}
	s := stage(t, sevenDaysText)
	spec := *s.Spec
	spec.Options.WaitBytes /= int64(part)
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	d := &sevenDays{gap: time.Duration(part) * 15 * time.Second, p: model.NewPartition(&spec, 0),
		all: bankBatch(t, spec.Schema), due: map[int][]int{}}
	before, learnt, most := heap(), 0, int64(0)
	for k := range int(days * 24 * time.Hour / d.gap) {
		got := d.step(k)
		if got.Unmatched != 0 {
			t.Fatalf("message %d: %+v, %+v", k, got, d.p.Losses())
		}
		learnt += got.Learnt
		most = max(most, d.p.Waiting())
	}
	took, lost := heap()-before, d.p.Losses()
	t.Logf("%d records, %d learnt, %+v; at most %.1f MiB wait of %.1f; the heap grew by %.0f MiB", d.from, learnt, lost,
		float64(most)/(1<<20), float64(spec.Options.WaitBytes)/(1<<20), took)
	if lost.Evicted > 0 || !d.p.Trained() || most > spec.Options.WaitBytes {
		t.Errorf("%+v, trained %v, %d bytes waited", lost, d.p.Trained(), most)
	}
	runtime.KeepAlive(d)
}

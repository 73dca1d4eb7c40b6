package live

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"liftstream/cmd/liftstream/internal/page"
	"liftstream/model/evaluate"
	"liftstream/stream"
)

// delayOver is the time for which delays are counted at least, where there are any.
const delayOver = 10 * time.Second

// counted are the buckets of the delays at a time.
type counted struct {
	at      time.Time
	buckets []*dto.Bucket
	n       uint64
}

// flow returns a function that tells from the metrics of a stage how the messages pass.
func flow(m *stream.Metrics, now func() time.Time) func() page.Flow {
	var mu sync.Mutex
	began := counted{at: now()}
	before, last := began, began
	return func() page.Flow {
		f := page.Flow{Dead: []page.Counted{}}
		each(m.Dead, "reason", func(reason string, n float64) {
			f.Dead = append(f.Dead, page.Counted{Name: reason, N: n})
		})
		f.Dead = slices.DeleteFunc(f.Dead, func(c page.Counted) bool { return c.N == 0 })
		slices.SortFunc(f.Dead, func(a, b page.Counted) int {
			return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
		})
		f.Waiting = waiting(m)
		mu.Lock()
		defer mu.Unlock()
		c := counted{at: now()}
		for x := range collected(m.Latency) {
			c.buckets, c.n = x.GetHistogram().GetBucket(), x.GetHistogram().GetSampleCount()
		}
		if c.at.Sub(last.at) >= delayOver {
			before, last = last, c
		}
		if f.Delay = delay(&before, &c); f.Delay == nil { // none came lately
			f.Delay = delay(&began, &c)
		}
		return f
	}
}

// waiting are the records that wait for their labels, by partition.
func waiting(m *stream.Metrics) map[int32]page.Waiting {
	out := map[int32]page.Waiting{}
	for _, x := range []struct {
		from prometheus.Collector
		set  func(w *page.Waiting, v float64)
	}{{m.WaitRecords, func(w *page.Waiting, v float64) { w.Records = v }},
		{m.Waiting, func(w *page.Waiting, v float64) { w.Bytes = v }},
		{m.WaitOldest, func(w *page.Waiting, v float64) { w.Oldest = v }}} {
		each(x.from, "partition", func(name string, v float64) {
			if p, err := strconv.ParseInt(name, 10, 32); err == nil {
				w := out[int32(p)]
				x.set(&w, v)
				out[int32(p)] = w
			}
		})
	}
	return out
}

// collected are the metrics of a collector.
func collected(c prometheus.Collector) func(yield func(*dto.Metric) bool) {
	return func(yield func(*dto.Metric) bool) {
		ch := make(chan prometheus.Metric, 16)
		go func() {
			c.Collect(ch)
			close(ch)
		}()
		more := true
		for m := range ch { // to its end: Collect waits for that
			var d dto.Metric
			more = more && (m.Write(&d) != nil || yield(&d))
		}
	}
}

// each calls f with the value of each counter or gauge of a collector, and its label of that name.
func each(c prometheus.Collector, label string, f func(name string, v float64)) {
	for d := range collected(c) {
		v := d.GetGauge().GetValue()
		if d.Counter != nil {
			v = d.GetCounter().GetValue()
		}
		for _, l := range d.GetLabel() {
			if l.GetName() == label {
				f(l.GetValue(), v)
			}
		}
	}
}

// delay tells of the delays that were counted between two times; nil = of none.
func delay(from, to *counted) *page.Delay {
	n := to.n - from.n
	if n == 0 {
		return nil
	}
	quantile := func(q float64) evaluate.Number {
		var lower, below float64
		for i, b := range to.buckets {
			c := float64(b.GetCumulativeCount())
			if i < len(from.buckets) {
				c -= float64(from.buckets[i].GetCumulativeCount())
			}
			upper := b.GetUpperBound()
			if c >= q*float64(n) {
				if math.IsInf(upper, 1) {
					break
				}
				return evaluate.Number(lower + (upper-lower)*(q*float64(n)-below)/max(c-below, 1))
			}
			lower, below = upper, c
		}
		return evaluate.Number(lower) // more than the last bound
	}
	return &page.Delay{Half: quantile(.5), Most: quantile(.99), Over: to.at.Sub(from.at).Seconds(), Messages: n}
}

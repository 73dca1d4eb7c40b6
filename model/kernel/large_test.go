package kernel

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/model"
	"liftstream/model/modeltest"
)

// spoken reads all records of Isolet, their first features only.
func spoken(b testing.TB, features int) *model.Evidence {
	b.Helper()
	f, err := os.Open(modeltest.Shared(b, "data/isolet.csv.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	s := &model.Schema{Positive: -1}
	ev := &model.Evidence{Schema: s, Columns: make([][]float64, features)}
	for x := range features {
		s.Features = append(s.Features, model.Feature{Name: fmt.Sprintf("%03d", x)})
	}
	class := map[string]int32{}
	for lines.Scan() {
		cells := strings.Split(strings.TrimSpace(lines.Text()), ",")
		for x := range features {
			v, err := strconv.ParseFloat(cells[x], 64)
			if err != nil {
				b.Fatal(err)
			}
			ev.Columns[x] = append(ev.Columns[x], v)
		}
		name := cells[len(cells)-1]
		c, ok := class[name]
		if !ok {
			c = int32(len(class))
			class[name] = c
			s.Classes = append(s.Classes, name)
		}
		ev.Class = append(ev.Class, c)
		ev.Weight = append(ev.Weight, 1)
	}
	ev.Levels = model.NewLevels(s)
	return ev
}

// newest returns the evidence without its first records.
func newest(ev *model.Evidence, from int) *model.Evidence {
	out := *ev
	out.Columns = nil
	for _, c := range ev.Columns {
		out.Columns = append(out.Columns, c[from:])
	}
	out.Class, out.Weight = ev.Class[from:], ev.Weight[from:]
	return &out
}

// peak runs f and returns the largest heap that was seen while it ran, less that before.
func peak(f func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, top := m.HeapAlloc, m.HeapAlloc
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&m)
				top = max(top, m.HeapAlloc)
			}
		}
	}()
	f()
	close(stop)
	<-done
	return top - before
}

// TestMemory: in the mode nonneg nothing is kept of pairs of records. A kernel matrix of these would be 20 GB.
func TestMemory(t *testing.T) {
	ev := signal(50000)
	o := Default()
	o.Gamma1, o.Gamma2, o.Triples = 1, .1, 5000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fitted(t, t.Context(), o, ev, nil)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 200<<20 {
		t.Errorf("a fit of %d records and %d triples allocates %d MB in all", ev.Len(), o.Triples, got>>20)
	}
}

// BenchmarkLarge fits a part of 20,000 triples over 600 kernels (7,797 records of Isolet, 200 features of three
// widths): cold, then warm on the evidence with a tenth of the records gone; with prices given, and chosen.
func BenchmarkLarge(b *testing.B) {
	ev := spoken(b, 200)
	old := newest(ev, 0)
	cut := ev.Len() / 10
	old = newest(old, cut)
	for _, c := range []struct {
		name           string
		gamma1, gamma2 float64
	}{{"given", .1, .1}, {"auto", math.NaN(), math.NaN()}} {
		o := Default()
		o.Triples, o.Gamma1, o.Gamma2 = 20000, c.gamma1, c.gamma2
		var part *Part
		for _, warm := range []bool{false, true} {
			name, data := c.name+"/cold", ev
			if warm {
				name, data = c.name+"/warm", old
			}
			b.Run(name, func(b *testing.B) {
				var top uint64
				var p *Part
				start := modeltest.Processor()
				for b.Loop() {
					from := part
					if !warm {
						from = nil
					}
					top = peak(func() { p = fitted(b, b.Context(), o, data, from) })
				}
				part = p
				b.ReportMetric((modeltest.Processor()-start).Seconds()/float64(b.N), "cpu-s/op")
				b.ReportMetric(float64(top)/(1<<20), "MB-peak")
				b.ReportMetric((p.Objective-p.Bound)/p.Objective, "gap")
				b.ReportMetric(float64(len(p.ShortList())), "features")
			})
		}
	}
}

package page

import (
	"math"
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/stream"
)

// TestThePartitionsWithTheMostToDoAreShown, in their order, and their number is told.
func TestThePartitionsWithTheMostToDoAreShown(t *testing.T) {
	var all []stream.PartitionStatus
	for i := range int32(40) {
		all = append(all, stream.PartitionStatus{Partition: i, End: int64(i % 7)})
	}
	src := hostileSource(0)
	src.Status = func() stream.Status { return stream.Status{Partitions: all} }
	l := src.Live()
	if len(l.Partitions) != shownPartitions || l.PartitionsOf != 40 {
		t.Fatalf("%d of %d partitions", len(l.Partitions), l.PartitionsOf)
	}
	for i, p := range l.Partitions {
		if p.Behind < 2 || i > 0 && p.Partition <= l.Partitions[i-1].Partition {
			t.Errorf("%d: partition %d with %d to go", i, p.Partition, p.Behind)
		}
	}
	html, _ := get(t, server(t, src).URL)
	if !strings.Contains(html, "24 of 40 partitions") {
		t.Error("the page does not say that it shows some partitions alone")
	}
}

// TestRememberedIdsAreShown: those of all partitions, and the forgotten ones where there are any.
func TestRememberedIdsAreShown(t *testing.T) {
	src := hostileSource(0)
	all := []stream.PartitionStatus{{Partition: 0}, {Partition: 1}}
	src.Status = func() stream.Status { return stream.Status{Partitions: all} }
	shows := func(want string, is bool) {
		t.Helper()
		if got := shown(t, src.Live()); strings.Contains(got, want) != is {
			t.Errorf("%q is %v on the page:\n%s", want, !is, got)
		}
	}
	shows("remembered", false)
	all[0].Recency, all[1].Recency = &model.Kept{IDs: 2000, Bytes: 2048}, &model.Kept{IDs: 345, Bytes: 1024}
	shows("Former records of 2,345|ids are remembered 3 KiB|.|", true)
	shows("forgotten", false)
	all[1].Recency.Evicted = 1234
	shows("1,234 were forgotten for the bound memory.recency", true)
}

func TestUnitsOfTimeAndSize(t *testing.T) {
	for _, c := range []struct{ got, want string }{{duration(.0123), "12 ms"}, {duration(1.25), "1.25 s"},
		{duration(119.9), "120 s"}, {duration(120.), "2 min"}, {duration(5400.), "90 min"}, {duration(7200.), "2.0 h"},
		{duration(400000.), "5 days"}, {duration(math.NaN()), "–"}, {duration(math.Inf(1)), "–"}, {duration(0.), "0 ms"},
		{size(0), "0 B"}, {size(1023), "1.02e+03 B"}, {size(1536), "1.5 KiB"}, {size(3 << 30), "3 GiB"}} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

package stream

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// partitioned returns the names of the fields of m that are gauges with a label partition and one more at most, and
// sets each of them for the partition.
func partitioned(m *Metrics, partition string) (fields []string) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		g, ok := v.Field(i).Interface().(*prometheus.GaugeVec)
		if !ok {
			continue
		}
		ch := make(chan *prometheus.Desc, 1)
		g.Describe(ch)
		_, labels, _ := strings.Cut((<-ch).String(), "variableLabels: {")
		names := strings.Split(labels[:strings.IndexByte(labels, '}')], ",")
		if !slices.Contains(names, "partition") {
			continue
		}
		values := prometheus.Labels{}
		for _, name := range names {
			values[name] = partition
		}
		g.With(values).Set(1)
		fields = append(fields, v.Type().Field(i).Name)
	}
	return fields
}

// TestEveryGaugeOfAPartitionLeavesWithIt: a gauge that stays behind would show the partition twice, in its old process
// and in its new one.
func TestEveryGaugeOfAPartitionLeavesWithIt(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := NewMetrics(reg)
	fields := partitioned(m, "7")
	if len(fields) < 10 {
		t.Fatalf("gauges of a partition: %v", fields)
	}
	forget(m, "7")
	for name := range scrape(t, reg) {
		if strings.Contains(name, `partition="7"`) {
			t.Errorf("%s stays when the partition leaves: forget in metrics.go lacks it", name)
		}
	}
}

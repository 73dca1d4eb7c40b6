package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyFeatures: lint warns of the effects of many features.
func TestManyFeatures(t *testing.T) {
	for _, c := range []struct {
		features int
		extra    string
		want     []string
	}{
		{WidestKernel, "", nil},
		{WidestKernel + 1, "", []string{"kernel looks at the 128 strongest", "trees look at the 128 strongest",
			"fit.warmup is 500"}},
		{WidestKernel + 1, "kernel: off\ntrees: off\nfit: {warmup: 100}\n", nil},
		{WidestLocal + 1, "kernel: off\ntrees: off\nfit: {warmup: 50}\n", []string{"local subspaces look at the 512"}},
		{1018, "kernel: off\ntrees: off\nlocal: off\nfit: {warmup: 10}\n", nil},
		{1019, "kernel: off\ntrees: off\nlocal: off\nfit: {warmup: 10}\n",
			[]string{"memory.tail 32MiB holds fewer than the 4096"}},
		{1019, "kernel: off\ntrees: off\nlocal: off\nfit: {warmup: 10}\nmemory: {tail: 33MiB}\n", nil},
	} {
		var b strings.Builder
		b.WriteString("name: w\nrecord:\n  label: {column: y, classes: [no, yes]}\n  features:\n")
		for f := range c.features {
			fmt.Fprintf(&b, "    - {name: x%d, kind: continuous}\n", f)
		}
		_, ws := load(t, b.String()+c.extra)
		if len(ws) != len(c.want) {
			t.Errorf("%d features, %q: %v", c.features, c.extra, ws)
			continue
		}
		for i, w := range ws {
			if !strings.Contains(w.Message, c.want[i]) || w.Line != 4 {
				t.Errorf("%d features, %q: %v, want %q", c.features, c.extra, w, c.want[i])
			}
		}
	}
}

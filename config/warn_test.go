package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestSettingsWithoutEffect: lint warns of settings of the local subspaces that change nothing.
func TestSettingsWithoutEffect(t *testing.T) {
	for local, want := range map[string]string{
		"{theta: 0, divergence: lower_bound}":    "local.divergence has no effect",
		"{theta: 0, divergence: from_reference}": "",
		"{theta: 0.2, divergence: lower_bound}":  "",
		"{theta: auto, divergence: lower_bound}": "",
		"{divergence: lower_bound}":              "",
		"{pool: {half_life: 1h}}":                "local.pool.half_life has no effect",
		"{pool: {half_life: 1h, bytes: 1MiB}}":   "",
		"{divergence: to_reference}":             "",
	} {
		_, ws := load(t, minimal+"local: "+local+"\n")
		if want == "" && len(ws) > 0 || want != "" && (len(ws) != 1 || !strings.Contains(ws[0].Message, want)) {
			t.Errorf("local: %s: %v, want %q", local, ws, want)
		}
	}
}

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

// TestGroupsWithoutAPositiveClass: lint says that there will be none.
func TestGroupsWithoutAPositiveClass(t *testing.T) {
	const features = "  features: [{name: x, kind: nominal, use: report}, {name: y, kind: continuous}]\n" +
		"segments: {s: y>1}\n"
	for classes, want := range map[string]int{"[a, b, c]": 2, "[a, b, c], positive: c": 0, "[a, b]": 0} {
		_, ws, err := Parse("t.yaml", []byte("name: n\nrecord:\n  label: {column: c, classes: "+classes+"}\n"+features),
			func(string) (string, bool) { return "", false })
		if err != nil || len(ws) != want {
			t.Errorf("%s: %v, warnings %v", classes, err, ws)
		}
	}
}

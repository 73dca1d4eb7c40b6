package config

import (
	"testing"
	"time"
)

// TestFormerRecords: windows and conditions have one canonical form, which is read again as itself.
func TestFormerRecords(t *testing.T) {
	for text, want := range map[string]Derivation{
		"since_last()":                 {Function: FunctionSinceLast},
		" since_last ( ) ":             {Function: FunctionSinceLast},
		"count(30d)":                   {Function: FunctionCount, Window: 30 * day},
		"count(48h)":                   {Function: FunctionCount, Window: 2 * day},
		"count( job=clerk , 90m )":     {Function: FunctionCount, Window: 90 * time.Minute, Where: "job", Level: "clerk"},
		`since_last("job" = 'a b, c')`: {Function: FunctionSinceLast, Where: "job", Level: "a b, c"},
		"count(1d, \"job\"=\"time\")":  {Function: FunctionCount, Window: day, Where: "job", Level: "time"},
		"count(1s)":                    {Function: FunctionCount, Window: time.Second},
		"count(999ms)":                 {},
		"count(3650d)":                 {Function: FunctionCount, Window: 3650 * day},
		"count(3650d1s)":               {},
		"count(1d, job=)":              {},
	} {
		c, _, err := Parse("t.yaml", []byte("name: x\nrecord:\n  id: who\n  time: at\n  label: {column: class, classes: "+
			"[a, b]}\n  features:\n    - {name: age, kind: continuous}\n    - {name: job, kind: nominal}\nderive:\n"+
			"  x: |-\n    "+text+"\n"), environment)
		if want.Function == "" {
			if err == nil {
				t.Errorf("%s was accepted", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		d, _ := c.Derived("x")
		if d.Function != want.Function || d.Window != want.Window || d.Where != want.Where || d.Level != want.Level {
			t.Errorf("%s is %+v", text, d)
		}
		again, err := ParseDerivation(d.String())
		if err != nil || again.String() != d.String() || again.Where != want.Where || again.Level != want.Level {
			t.Errorf("%s: %s read again is %s, %v", text, d.String(), again.String(), err)
		}
		f := c.Record.Features[len(c.Record.Features)-1]
		if f.Name != "x" || f.Kind != KindContinuous || !d.Recent() || len(c.Sources()) != 0 {
			t.Errorf("%s: feature %+v, sources %v", text, f, c.Sources())
		}
	}
}

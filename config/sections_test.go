package config

import (
	"strings"
	"testing"
)

func TestSectionsThatDiffer(t *testing.T) {
	c, _ := load(t, minimal)
	for _, x := range []struct{ text, want string }{
		{minimal, ""},
		{minimal + "lift: {quantiles: 5}\n", ""}, // its default
		{strings.Replace(minimal, "name: bank", "name: other", 1), "name topics"},
		{minimal + "trees: off\nkernel: {mode: ridge}\n", "kernel trees"},
		{minimal + "labels: {window: 1d}\n", "labels topics"},
		{minimal + "http: {token: abc}\nlearning: off\n", "http learning"},
		{strings.Replace(minimal, "kind: nominal", "kind: nominal, levels: [a, b]", 1), "record"},
	} {
		other, _ := load(t, x.text)
		if got := strings.Join(c.Sections(other), " "); got != x.want {
			t.Errorf("%q differ, want %q, in\n%s", got, x.want, x.text)
		}
		if got := strings.Join(other.Sections(c), " "); got != x.want {
			t.Errorf("the other way round %q differ, want %q, in\n%s", got, x.want, x.text)
		}
	}
}

package portable

import (
	"slices"
	"strings"
	"testing"

	"liftstream/cmd/liftstream/internal/assemble"
	"liftstream/config"
	"liftstream/model"
	"liftstream/model/propensity"
)

// TestPartsWithoutInputsAreNotLeftOut: a component that no score depends on leaves nothing out of a card.
func TestPartsWithoutInputsAreNotLeftOut(t *testing.T) {
	c, _, err := config.Parse("a.yaml", []byte(`
name: a
record: {label: {column: y, classes: ["0", "1"]}, features: [{name: x, kind: continuous}]}
output: {unusual: 1%}
trees: off
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	s, err := assemble.New(c)
	if err != nil {
		t.Fatal(err)
	}
	m := &model.Model{Parts: map[string][]byte{"lift": nil, "local": nil, "unusual": nil}}
	var names []string
	for _, text := range leftOut(s, m, &propensity.Additive{}) {
		if name, of, _ := strings.Cut(text, ":"); strings.HasPrefix(of, " its inputs") {
			names = append(names, name)
		}
	}
	if !slices.Equal(names, []string{"local"}) {
		t.Error(names)
	}
}

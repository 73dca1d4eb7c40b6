package assemble

import (
	"testing"

	"liftstream/config"
	"liftstream/model"
)

// TestFoundingBlocks: states that do not name their components were written when local had one input.
func TestFoundingBlocks(t *testing.T) {
	s := &model.Schema{Classes: []string{"a", "b"}, Positive: 1, Features: []model.Feature{{Name: "x"}}}
	for _, newest := range []int{0, 2048} {
		c := config.Default("x")
		c.Local.Newest = newest
		for _, b := range founding(c, s) {
			if b.Name == "local" && b.Inputs != 1 {
				t.Errorf("%d newest records: local had %d inputs", newest, b.Inputs)
			}
		}
		if n := localContribution(c, s); n != 1+min(newest, 1) {
			t.Errorf("%d newest records: local has %d inputs", newest, n)
		}
	}
}

func localContribution(c *config.Config, s *model.Schema) int {
	for _, x := range components {
		if x.name == "local" {
			return x.factory(c, s).(model.Contributor).Contribution().Inputs
		}
	}
	return 0
}

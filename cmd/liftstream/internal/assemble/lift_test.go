package assemble

import (
	"testing"

	"liftstream/config"
	"liftstream/model/lift"
)

// TestLiftOptions: rankings and validation follow the configuration, and by default are none that noise can lead.
func TestLiftOptions(t *testing.T) {
	const head = "name: shop\nrecord:\n  label: {column: y, classes: [a, b]}\n  features: [{name: x, kind: nominal}]\n"
	options := func(text string) lift.Options {
		c, _, err := config.Parse("test.yaml", []byte(head+text), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		return liftOptions(c, s.Spec.Schema)
	}
	o := options("")
	if o.Sets.Rank != lift.ByLeaveOneOut || o.Windows.MinMass != .15 || !o.Windows.Fold ||
		o.Profiles.Rank != lift.ByLower || o.Profiles.Validate != .2 || o.Profiles.KeepRedundant {
		t.Errorf("by default %+v", o)
	}
	o = options("lift: {sets: {rank: eta}, windows: {min_mass: 0, overlapping: keep}, profiles: {rank: lift, validate: " +
		"0, redundant: keep}}\n")
	if o.Sets.Rank != lift.ByEta || o.Windows.MinMass != 0 || o.Windows.Fold || o.Profiles.Rank != lift.ByLift ||
		o.Profiles.Validate != 0 || !o.Profiles.KeepRedundant {
		t.Errorf("as the paper does %+v", o)
	}
	if o := options("lift: {profiles: {rank: validated}}\n"); o.Profiles.Rank != lift.ByValidated {
		t.Errorf("by the validated bound %+v", o)
	}
}

package model_test

import (
	"strings"
	"testing"

	"liftstream/model"
	"liftstream/model/lift"
	"liftstream/model/local"
)

// named is a factory under another name.
type named struct {
	model.Factory
	name string
}

func (f named) Name() string { return f.name }

// TestTwoOfAPowerAreRefused: a score has one profile, one subspace and one reason.
func TestTwoOfAPowerAreRefused(t *testing.T) {
	sets, near := lift.New(lift.Options{Quantiles: 4}, schema), local.New(local.Options{}, schema)
	for _, c := range []struct {
		components []model.Factory
		want       string
	}{
		{[]model.Factory{sets, near}, ""},
		{[]model.Factory{sets, named{sets, "other"}}, `components "lift" and "other" both know profiles`},
		{[]model.Factory{near, named{near, "other"}}, `components "local" and "other" both select features`},
		{[]model.Factory{sets, sets}, `two components are named "lift"`},
		{[]model.Factory{named{sets, "propensity"}}, `two components are named "propensity"`},
	} {
		spec := newSpec(nil)
		state := model.NewPartition(spec, 0).Snapshot()
		spec.Components = c.components
		err := spec.Check()
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if !strings.HasPrefix(c.want, "components") {
			continue
		}
		if _, err := model.RestorePartition(spec, state); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("restoring: error %v, want %q", err, c.want)
		}
	}
}

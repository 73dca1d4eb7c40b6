package live

import (
	"testing"

	"liftstream/config"
	"liftstream/stream/committed"
)

// TestEachPolicyIsItsOwn: a reaction of the configuration is that of its own cause alone.
func TestEachPolicyIsItsOwn(t *testing.T) {
	fail := config.Policy{InputLost: "fail", TopicRecreated: "fail", OffsetMoved: "fail", ModelLost: "fail",
		SchemaChanged: "fail"}
	for _, c := range []struct {
		name string
		set  func(p *config.Policy)
		want committed.Policies
	}{
		{"all fail", func(*config.Policy) {}, committed.Policies{}},
		{"input_lost", func(p *config.Policy) { p.InputLost = "rebuild" }, committed.Policies{InputLost: committed.Rebuild}},
		{"topic_recreated", func(p *config.Policy) { p.TopicRecreated = "rebuild" },
			committed.Policies{TopicRecreated: committed.Rebuild}},
		{"schema_changed", func(p *config.Policy) { p.SchemaChanged = "rebuild" },
			committed.Policies{SchemaChanged: committed.Rebuild}},
		{"model_lost", func(p *config.Policy) { p.ModelLost = "rebuild" }, committed.Policies{ModelLost: committed.Rebuild}},
		{"offset_moved: skip", func(p *config.Policy) { p.OffsetMoved = "skip" },
			committed.Policies{OffsetMoved: committed.OffsetSkip}},
		{"offset_moved: rescore", func(p *config.Policy) { p.OffsetMoved = "rescore" },
			committed.Policies{OffsetMoved: committed.OffsetRescore}},
		{"topic_shared", func(p *config.Policy) { p.TopicShared = "accept" }, committed.Policies{TopicShared: true}},
	} {
		p := fail
		if c.set(&p); policies(&p) != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, policies(&p), c.want)
		}
	}
}

package config

import (
	"fmt"
	"slices"
)

// warn returns the settings that the file may have by mistake.
func (d checker) warn(c *Config) []Warning {
	var ws []Warning
	add := func(path, message string) { ws = append(ws, Warning{d.file, d.line(path), message}) }
	if s := c.Kafka.SASL; s != nil && c.Kafka.TLS == nil && s.Mechanism == MechanismPlain {
		add("kafka.sasl.mechanism", "kafka.sasl.mechanism PLAIN without kafka.tls sends the password in clear text")
	}
	for i := range c.Record.Features {
		path := elementPath("record.features", i) + ".levels"
		for j, l := range c.Record.Features[i].Levels {
			if slices.Contains(c.Record.Missing, l) {
				p := elementPath(path, j)
				add(p, p+": "+quote(l)+" is one of record.missing: in CSV files it means missing, not the level")
			}
		}
	}
	for i, l := range c.Record.Label.Classes {
		if slices.Contains(c.Record.Missing, l) {
			p := elementPath("record.label.classes", i)
			add(p, p+": "+quote(l)+" is one of record.missing: in CSV files it means missing, not the class")
		}
	}
	if past := c.Policy.Past; c.Labels != nil && past > 0 && past < c.Labels.Window {
		add("policy.past", fmt.Sprintf("policy.past %s is shorter than labels.window %s: after an outage of that length "+
			"the waiting events and labels become dead letters", past, c.Labels.Window))
	}
	if l := &c.Local; !l.Off && l.Divergence != DivergenceFrom && !l.Theta.Auto && l.Theta.Value == 0 {
		add("local.divergence", "local.divergence has no effect where local.theta is 0: no feature is selected by it")
	}
	if p := &c.Local.Pool; !c.Local.Off && p.Bytes == 0 && !p.HalfLife.Forever() {
		add("local.pool.half_life", "local.pool.half_life has no effect without local.pool.bytes: no observation is kept")
	}
	if l := &c.Record.Label; len(l.Classes) > 2 && l.Positive == "" {
		const tail = " without record.label.positive, of more than two classes: groups have figures of the positive class"
		if len(c.Segments) > 0 {
			add("segments", "segments has no effect"+tail)
		}
		for i := range c.Record.Features {
			if p := elementPath("record.features", i) + ".use"; c.Record.Features[i].Use == UseReport {
				add(p, p+": report shows nothing"+tail)
			}
		}
	}
	warnUntimed(d, add)
	for _, text := range wide(c) {
		add("record.features", text)
	}
	slices.SortStableFunc(ws, func(a, b Warning) int { return a.Line - b.Line })
	return ws
}

// Bounds of the components (kernel.Widest, local.Widest, trees.Widest) and of a partition: the records that its tail
// holds at least, and the values up to which it makes a model of its own before the trainer's first (model/MODEL.md 5).
const (
	WidestKernel = 128
	WidestLocal  = 512
	WidestTrees  = 128
	LeastTail    = 4096
	OwnCells     = 50_000
)

// wide returns the warnings of a configuration of many features.
func wide(c *Config) (texts []string) {
	n := len(c.Record.Features)
	add := func(format string, args ...any) {
		texts = append(texts, fmt.Sprintf("record.features: %d features: "+format, append([]any{n}, args...)...))
	}
	if n > WidestKernel && !c.Kernel.Off {
		add("the kernel looks at the %d strongest of them, fewer where the work of a fit is not enough", WidestKernel)
	}
	if n > WidestLocal && !c.Local.Off {
		add("the local subspaces look at the %d strongest of them, fewer where the work of a fit is not enough", WidestLocal)
	}
	if n > WidestTrees && !c.Trees.Off {
		add("the trees look at the %d strongest of them", WidestTrees)
	}
	if per := ByteSize(8*n + 44); LeastTail*per > c.Memory.Tail {
		add("memory.tail %v holds fewer than the %d records that a tail holds at least, which take %v in each partition",
			c.Memory.Tail, LeastTail, LeastTail*per)
	}
	if n > WidestKernel && c.Fit.Warmup*(n+1) > OwnCells {
		add("fit.warmup is %d: a partition makes no model of its own of so many values; scores are base rates until the "+
			"trainer has published its first", c.Fit.Warmup)
	}
	return texts
}

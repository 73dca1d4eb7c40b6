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
	slices.SortStableFunc(ws, func(a, b Warning) int { return a.Line - b.Line })
	return ws
}

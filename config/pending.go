package config

import (
	"reflect"
	"slices"
	"strings"
)

// pendingKey is a key of a part that this build does not have yet: it is accepted, and a warning says what happens
// instead. When the part comes, its row goes.
type pendingKey struct {
	path    string // a key, or a section with all its keys
	instead string
}

var pending = []pendingKey{
	{"local", "the live stage has no local subspaces yet; only eval --method local looks at these keys"},
	{"kernel", "the live stage has no learnt kernel yet; only eval --method kernel looks at these keys"},
}

// warn returns what the file sets without getting it. A key that is set to its default warns of nothing.
func (d *decoder) warn(c *Config) []Warning {
	var ws []Warning
	add := func(path, message string) { ws = append(ws, Warning{d.file, d.line(path), message}) }
	standard := map[string]string{}
	leaves(reflect.ValueOf(Default("")), "", func(path string, v reflect.Value) { standard[path] = strings.Join(texts(v), " ") })
	leaves(reflect.ValueOf(c), "", func(path string, v reflect.Value) {
		if d.bad[path] || strings.Join(texts(v), " ") == standard[path] {
			return
		}
		for _, p := range pending {
			if path != p.path && !strings.HasPrefix(path, p.path+".") {
				continue
			}
			add(path, path+" has no effect: "+p.instead)
		}
	})
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
	slices.SortStableFunc(ws, func(a, b Warning) int { return a.Line - b.Line })
	return ws
}

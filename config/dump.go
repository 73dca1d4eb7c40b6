package config

import (
	"encoding/binary"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Redacted writes the whole configuration, defaults included, as YAML that loads again. Secrets are three stars, and
// so is every other text that came from an environment variable that holds one: it went into a secret as well, or its
// name says so.
func (c *Config) Redacted() []byte {
	var out strings.Builder
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	// A node built here always encodes, and a strings.Builder takes all of it.
	if err := e.Encode(c.node(reflect.ValueOf(c), "")); err != nil {
		panic("config: encoding: " + err.Error())
	}
	return []byte(out.String())
}

// String is Redacted as a text, so that no print of a Config shows a secret.
func (c *Config) String() string { return string(c.Redacted()) }

// node returns the YAML of v, or nil when its key is left out.
func (c *Config) node(v reflect.Value, path string) *yaml.Node {
	switch t := v.Type(); {
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return c.node(v.Elem(), path)
	case isOff(v):
		return c.single(switchedOff, "")
	case isSection(t):
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, m := range members(t) {
			f := v.Field(m.index)
			if m.omitEmpty && (f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0) {
				continue
			}
			if val := c.node(f, join(path, m.key)); val != nil {
				n.Content = append(n.Content, c.single(m.key, ""), val)
			}
		}
		return n
	case t == reflect.TypeFor[TimeColumn]() && v.Interface().(TimeColumn).Unit != "":
		x := v.Interface().(TimeColumn)
		return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{
			c.single("column", ""), c.single(strings.ReplaceAll(x.Column, "${", "$${"), path),
			c.single("unit", ""), c.single(string(x.Unit), ""),
		}}
	case t.Kind() == reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			e := c.node(v.Index(i), elementPath(path, i))
			e.Style = e.Style | yaml.FlowStyle
			n.Content = append(n.Content, e)
		}
		if !isSection(t.Elem()) {
			n.Style = yaml.FlowStyle
		}
		return n
	case t.Kind() == reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, k := range sortedKeys(v) {
			key := c.single(k, "")
			n.Content = append(n.Content, key, c.node(v.MapIndex(reflect.ValueOf(k)), join(path, k)))
		}
		return n
	}
	if s, ok := v.Interface().(Secret); ok {
		return c.single(s.String(), "")
	}
	return c.single(strings.ReplaceAll(text(v), "${", "$${"), path)
}

func (c *Config) single(t, path string) *yaml.Node {
	if path != "" && c.masked[path] {
		t = redacted
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: t}
	if _, quoted := needsQuotes[strings.ToLower(t)]; quoted || t == "" || strings.ContainsAny(t, "{}") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// needsQuotes are texts that some readers of YAML take for something else.
var needsQuotes = map[string]struct{}{
	"null": {}, "~": {}, "yes": {}, "no": {}, "on": {}, "off": {}, "y": {}, "n": {},
}

// fingerprintVersion changes when a default of a fingerprinted key changes, so that states made under the old one are
// not taken for states of the new.
const fingerprintVersion = 1

// shapers are the sections and keys that shape a state.
var shapers = []string{"record", "lift", "propensity", "local", "kernel", "trees", "fit.seed", "dedup",
	"drift", "derive", "memory.recency"}

// Fingerprint identifies the settings that shape a state and a model: record, lift, propensity, local, kernel, trees,
// fit.seed, dedup, drift, derive and memory.recency, by their meaning. Order of keys, comments, the spelling of
// numbers and defaults that are written out do not count; the order of features, classes and levels does. It is FNV-1a
// over the path and the value of every key that differs from its default, so that a new key leaves it as it is.
func (c *Config) Fingerprint() uint64 { return c.fingerprint(nil) }

// later are the keys of a feature that are younger than fingerprintVersion: an empty one leaves a Fingerprint as it is.
var later = []string{".special", ".cuts", ".bins.monotone"}

func isLater(path string) bool {
	return slices.ContainsFunc(later, func(key string) bool { return strings.HasSuffix(path, key) })
}

// unframed are the keys of features, levels and classes, and the sections that can be switched off: one that is off is
// a path by itself.
var unframed = []string{"record.features", "record.label.classes", "propensity.monotone",
	"propensity.base_rates", "local", "kernel", "trees", "dedup.by", "dedup.window", "dedup.max_bytes",
	"drift", "drift.false_alarms", "derive", "memory.recency"}

// Frame is a Fingerprint without record.features, record.label.classes, propensity.monotone, propensity.base_rates,
// `local: off`, `kernel: off`, `trees: off`, dedup, drift, derive and memory.recency: two configurations of the same
// Frame differ, as far as states go, in these alone.
func (c *Config) Frame() uint64 {
	return c.fingerprint(func(path string) bool {
		return slices.ContainsFunc(unframed, func(key string) bool { return path == key || strings.HasPrefix(path, key+"[") })
	})
}

// fingerprint leaves out the paths that skip names.
func (c *Config) fingerprint(skip func(path string) bool) uint64 {
	standard := map[string][]string{}
	leaves(reflect.ValueOf(Default("")), "", func(path string, v reflect.Value) { standard[path] = texts(v) })
	h := fnv.New64a()
	var length [8]byte
	add := func(t string) {
		binary.LittleEndian.PutUint64(length[:], uint64(len(t)))
		h.Write(length[:])
		h.Write([]byte(t))
	}
	binary.LittleEndian.PutUint64(length[:], fingerprintVersion)
	h.Write(length[:])
	leaves(reflect.ValueOf(c), "", func(path string, v reflect.Value) {
		if skip != nil && skip(path) {
			return
		}
		for _, s := range shapers {
			if path != s && !strings.HasPrefix(path, s+".") {
				continue
			}
			ts := texts(v)
			if strings.Join(ts, "") == "" && isLater(path) {
				continue
			}
			if was, ok := standard[path]; ok && slices.Equal(ts, was) {
				continue
			}
			add(path)
			binary.LittleEndian.PutUint64(length[:], uint64(len(ts)))
			h.Write(length[:])
			for _, t := range ts {
				add(t)
			}
		}
	})
	return h.Sum64()
}

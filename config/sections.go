package config

import (
	"reflect"
	"slices"
	"strings"
)

// Sections lists the sections, and the keys that stand in none, in which c and other differ by their meaning, in
// alphabetical order. Defaults that are written out do not count. The values are not told: they may be secrets.
func (c *Config) Sections(other *Config) (differ []string) {
	values := func(c *Config) map[string][]string {
		all := map[string][]string{}
		leaves(reflect.ValueOf(c), "", func(path string, v reflect.Value) { all[path] = texts(v) })
		return all
	}
	a, b := values(c), values(other)
	add := func(path string) {
		section, _, _ := strings.Cut(path, ".")
		if section, _, _ = strings.Cut(section, "["); !slices.Contains(differ, section) {
			differ = append(differ, section)
		}
	}
	for path, was := range a {
		if is, ok := b[path]; !ok || !slices.Equal(was, is) {
			add(path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			add(path)
		}
	}
	slices.Sort(differ)
	return differ
}

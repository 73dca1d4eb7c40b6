package config

import (
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// expand replaces the references in a value. It returns false when the value is not to be read.
func (d *decoder) expand(n *yaml.Node, path string, secret bool) (string, bool) {
	if !strings.Contains(n.Value, "${") {
		return n.Value, true
	}
	var out strings.Builder
	rest, known := n.Value, true
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			out.WriteString(rest)
			break
		}
		if i > 0 && rest[i-1] == '$' {
			out.WriteString(rest[:i-1] + "${")
			rest = rest[i+2:]
			continue
		}
		out.WriteString(rest[:i])
		name, after, closed := strings.Cut(rest[i+2:], "}")
		if !closed || !variableName.MatchString(name) {
			d.report(path, "", `%s: "${" must be followed by the name of an environment variable and "}"; "$${" stands for "${"`,
				path)
			return "", false
		}
		d.raw[path] = n.Value
		rest = after
		if d.env == nil {
			known = false
			continue
		}
		t, ok := d.env(name)
		if !ok {
			d.reportUnset(path, name)
			return "", false
		}
		if secret || secretName.MatchString(name) {
			d.secrets[name] = true
		}
		d.uses[name] = append(d.uses[name], path)
		if !utf8.ValidString(t) {
			d.report(path, "", "%s: the environment variable %s does not hold UTF-8 text", path, name)
			return "", false
		}
		out.WriteString(t)
	}
	if !known {
		d.bad[path] = true
		return "", false
	}
	return out.String(), true
}

// unseen reports whether a value at a path of that beginning is not seen, since the environment is not known: a
// reference to it is no problem then.
func (d *decoder) unseen(beginning string) bool {
	for path := range d.bad {
		if d.env == nil && d.raw[path] != "" && strings.HasPrefix(path, beginning) {
			return true
		}
	}
	return false
}

// masked returns the paths that hold text from a variable that holds a secret.
func (d *decoder) masked() map[string]bool {
	paths := map[string]bool{}
	for name := range d.secrets {
		for _, p := range d.uses[name] {
			paths[p] = true
		}
	}
	return paths
}

// quote shows the value at path in a message. A value from the environment is shown as it is written in the file.
func (d *decoder) quote(path, t string) string {
	if raw := d.raw[path]; raw != "" {
		return "the value of " + quote(raw)
	}
	return quote(t)
}

func sortedKeys(m reflect.Value) []string {
	keys := make([]string, 0, m.Len())
	for _, k := range m.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}

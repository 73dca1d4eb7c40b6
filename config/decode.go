package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Load reads and checks the configuration in a file; see Parse. An error that is not Problems means that the file could
// not be read.
func Load(path string, env func(string) (string, bool)) (*Config, []Warning, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, nil, fmt.Errorf("reading configuration: %w", err)
	}
	return Parse(path, data, env)
}

// Parse checks a configuration; name is that of its file in messages. ${NAME} inside a value is replaced, after
// parsing, by the value that env has for NAME, and $${ stands for ${. Names that env does not know are problems; with
// env nil (checking a file away from where it runs) a value with ${NAME} is accepted unseen, and the Config is not for
// use.
//
// The error is nil or Problems: all of them, by line. The Config is nil when there is an error.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, []Warning, error) {
	d := &decoder{
		file:    name,
		env:     env,
		lines:   map[string]int{},
		raw:     map[string]string{},
		bad:     map[string]bool{},
		excused: map[string]bool{},
		uses:    map[string][]string{},
		secrets: map[string]bool{},
	}
	c := Default("")
	c.Topics = Topics{Partitions: c.Topics.Partitions, Replication: c.Topics.Replication}
	var warnings []Warning
	if root := d.parse(data); root != nil {
		splitLabels(root)
		d.forbid(root)
		d.section(root, "", reflect.ValueOf(c).Elem())
		check := checker{d}
		check.optionalTexts(reflect.ValueOf(&c.Topics), "topics")
		if d.given("kafka.embedded") && !d.given("kafka.brokers") {
			c.Kafka.Brokers = nil
		}
		if !d.given("memory.batch") {
			c.Memory.Batch = min(max(2*c.Memory.Message, leastBatch), 2<<30-1)
		}
		if !d.given("memory.decoded") {
			c.Memory.Decoded = max(8*c.Memory.Message, leastDecoded)
		}
		c.nameTopics()
		deriveFeatures(check, c)
		check.check(c)
		warnings = check.warn(c)
	}
	if len(d.problems) > 0 {
		d.problems.sort()
		return nil, warnings, d.problems
	}
	c.masked, c.places = d.masked(), &decoder{file: d.file, env: d.env, lines: d.lines, raw: d.raw, bad: d.bad}
	return c, warnings, nil
}

// decoder reads a document onto a Config. Paths are dotted keys with list indices, such as record.features[2].kind.
type decoder struct {
	file     string
	env      func(string) (string, bool)
	problems Problems
	lines    map[string]int      // where a path was given
	raw      map[string]string   // how a value that holds ${NAME} was written
	bad      map[string]bool     // paths of which nothing more is to be said
	excused  map[string]bool     // required paths that a misspelt key stands for
	places   []place             // every key there is, once one was not found
	uses     map[string][]string // the paths that a variable went into
	untimed  []string            // derived features that need a time where record.time names none
	secrets  map[string]bool     // variables that hold a secret: one went into a Secret, or its name says so
}

func (d *decoder) given(path string) bool { return d.lines[path] > 0 }

// line is the line of path, or else of the section that it belongs to.
func (d *decoder) line(path string) int {
	for path != "" {
		if n := d.lines[path]; n > 0 {
			return n
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 1
}

// report notes a problem of the value at path, once for each path.
func (d *decoder) report(path, hint, format string, args ...any) {
	if d.bad[path] {
		return
	}
	if path != "" {
		d.bad[path] = true
	}
	d.reportLine(d.line(path), hint, format, args...)
}

func (d *decoder) reportLine(line int, hint, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	d.problems = append(d.problems, Problem{File: d.file, Line: max(line, 1), Message: message, Hint: hint})
}

// reportUnset reports an environment variable that a value needs and that is not set.
func (d *decoder) reportUnset(path, name string) {
	before := len(d.problems)
	d.report(path, "", "%s needs the environment variable %s, which is not set", path, name)
	for i := before; i < len(d.problems); i++ {
		d.problems[i].Unset = path
	}
}

var (
	reference     = regexp.MustCompile(`\$\{([^{}\s"',#\[\]]*)\}`)
	variableName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secretName    = regexp.MustCompile(`(?i)pass|secret|token|credential|private`)
	yamlLine      = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	unmark        = strings.NewReplacer(openMark, "{", closeMark, "}")
)

func (d *decoder) value(n *yaml.Node, path string, v reflect.Value) {
	d.lines[path] = n.Line
	t := v.Type()
	switch {
	case n.Kind == yaml.AliasNode:
		d.bad[path] = true
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		d.value(n, path, v.Elem())
	case t == reflect.TypeFor[TimeColumn]() && n.Kind == yaml.MappingNode:
		long := reflect.New(reflect.TypeFor[timeSection]()).Elem()
		d.section(n, path, long)
		v.Set(long.Convert(t))
	case isSection(t):
		if x, ok := v.Addr().Interface().(interface{ setDefaults() }); ok {
			x.setDefaults()
		}
		d.section(n, path, v)
	case t.Kind() == reflect.Slice:
		d.list(n, path, v)
	case t.Kind() == reflect.Map:
		d.table(n, path, v)
	default:
		d.single(n, path, v)
	}
}

// isEmpty reports whether nothing, or null, was written as the value.
func isEmpty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// pairs calls f for each key and value of a mapping, after refusing nodes that cannot be a key.
func (d *decoder) pairs(n *yaml.Node, path string, f func(key string, k, v *yaml.Node)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind == yaml.AliasNode:
		case k.Kind != yaml.ScalarNode:
			d.reportLine(k.Line, "", "a key of %s is not a text", sectionName(path))
		case k.Tag == "!!merge":
			d.reportLine(k.Line, "", "merge keys (<<) are not supported: write the keys out")
		case first[k.Value] > 0:
			d.reportLine(k.Line, "", "%s is given twice, first on line %d", quote(join(path, k.Value)), first[k.Value])
		default:
			first[k.Value] = k.Line
			f(k.Value, k, v)
		}
	}
}

func sectionName(path string) string {
	if path == "" {
		return "the configuration"
	}
	return path
}

// section reads a mapping with fixed keys. An empty one stands for its defaults.
func (d *decoder) section(n *yaml.Node, path string, v reflect.Value) {
	if isEmpty(n) {
		return
	}
	if s, ok := v.Addr().Interface().(switchable); ok && n.Kind == yaml.ScalarNode {
		if n.Value != switchedOff {
			d.report(path, "", "%s must be a section with keys, or off, not %q", path, n.Value)
		}
		*s.off() = true
		return
	}
	if n.Kind != yaml.MappingNode {
		d.report(path, "", "%s must be a section with keys, not %s", sectionName(path), kindName(n))
		return
	}
	ms := members(v.Type())
	d.pairs(n, path, func(key string, k, val *yaml.Node) {
		i := slices.IndexFunc(ms, func(m member) bool { return m.key == key })
		if i < 0 {
			d.unknown(k, path, ms)
			return
		}
		d.value(val, join(path, key), v.Field(ms[i].index))
		if val.Line > k.Line {
			d.lines[join(path, key)] = k.Line
		}
	})
}

// unknown reports a key that its section does not have: the section where it belongs, or the key that was probably
// meant.
func (d *decoder) unknown(k *yaml.Node, path string, ms []member) {
	keys := make([]string, len(ms))
	for i, m := range ms {
		keys[i] = m.key
	}
	hint := Nearest(k.Value, keys)
	if hint != "" {
		d.excused[join(path, hint)] = true
	}
	if d.places == nil {
		d.places = places(reflect.TypeFor[Config](), "", nil)
	}
	var homes []string
	for _, p := range d.places {
		if p.key == k.Value || join(p.section, p.key) == k.Value {
			homes = append(homes, sectionName(p.section))
		}
	}
	const most = 3
	switch {
	case len(homes) > most:
		homes = append(homes[:most], "others")
		fallthrough
	case len(homes) > 0:
		d.reportLine(k.Line, hint, "unknown key %s in %s: it belongs to %s", quote(k.Value), sectionName(path),
			strings.Join(homes, " or "))
	default:
		if hint == "" {
			hint = d.elsewhere(k.Value)
		}
		d.reportLine(k.Line, hint, "unknown key %s in %s", quote(k.Value), sectionName(path))
	}
}

// elsewhere returns the path of the key of any section that key is probably a slip of, or "".
func (d *decoder) elsewhere(key string) string {
	const shortest = 4 // shorter keys are near to everything
	var keys, paths []string
	for _, p := range d.places {
		if len(p.key) >= shortest {
			keys, paths = append(keys, p.key), append(paths, join(p.section, p.key))
		}
	}
	if i := slices.Index(keys, Nearest(key, keys)); i >= 0 {
		return paths[i]
	}
	return ""
}

// place is a key and the section that has it.
type place struct{ section, key string }

// places appends every key that a configuration can have.
func places(t reflect.Type, path string, ps []place) []place {
	switch {
	case t.Kind() == reflect.Pointer:
		return places(t.Elem(), path, ps)
	case isSection(t):
		for _, m := range members(t) {
			ps = append(ps, place{path, m.key})
			ps = places(t.Field(m.index).Type, join(path, m.key), ps)
		}
	case t.Kind() == reflect.Slice && isSection(t.Elem()):
		return places(t.Elem(), path+"[]", ps)
	}
	return ps
}

func (d *decoder) list(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.report(path, "", "%s must be a list such as [a, b], not %s", path, kindName(n))
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, e := range n.Content {
		d.value(e, fmt.Sprintf("%s[%d]", path, i), s.Index(i))
	}
	v.Set(s)
}

// table reads a mapping whose keys are free.
func (d *decoder) table(n *yaml.Node, path string, v reflect.Value) {
	if isEmpty(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.report(path, "", "%s must be a mapping such as {age: up}, not %s", path, kindName(n))
		return
	}
	m := reflect.MakeMap(v.Type())
	d.pairs(n, path, func(key string, k, val *yaml.Node) {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(val, join(path, key), e)
		m.SetMapIndex(reflect.ValueOf(key), e)
	})
	v.Set(m)
}

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isEmpty(n):
		return "nothing"
	}
	return "a single value"
}

// single reads one value. In a list of texts null is the text it is written as: it may be a level.
func (d *decoder) single(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.report(path, "", "%s must be a single value, not %s", path, kindName(n))
		return
	}
	inTexts := strings.HasSuffix(path, "]") && v.Kind() == reflect.String
	if isEmpty(n) && (!inTexts || n.Value == "") {
		d.report(path, "", "%s has no value: leave the key out for its default, or put quotes around a text", path)
		return
	}
	_, secret := v.Interface().(Secret)
	t, ok := d.expand(n, path, secret)
	if !ok {
		return
	}
	err := set(v, t)
	if err == nil {
		return
	}
	hint := ""
	var h *hinted
	if errors.As(err, &h) && d.raw[path] == "" {
		hint = h.hint
	}
	d.report(path, hint, "%s %v, not %s", path, err, d.quote(path, t))
}

// set reads a value from its text.
func set(v reflect.Value, t string) error {
	if s, ok := v.Addr().Interface().(scalar); ok {
		return s.setText(t)
	}
	if c, ok := v.Interface().(chooser); ok {
		choices := c.choices()
		if !slices.Contains(choices, t) {
			return &hinted{"must be " + orList(choices), Nearest(t, choices)}
		}
		v.SetString(t)
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(t)
	case reflect.Bool:
		switch t {
		case "true", "false":
			v.SetBool(t == "true")
		case "yes", "on", "True", "TRUE", "1":
			return &hinted{"must be true or false", "true"}
		case "no", "off", "False", "FALSE", "0":
			return &hinted{"must be true or false", "false"}
		default:
			return errors.New("must be true or false")
		}
	case reflect.Int, reflect.Int64:
		i, err := parseInt(t)
		if err != nil {
			return err
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := parseFloat(t)
		if err != nil {
			return err
		}
		v.SetFloat(f)
	default:
		panic("config: no text form for " + v.Type().String())
	}
	return nil
}

func orList(ts []string) string {
	if len(ts) == 1 {
		return ts[0]
	}
	return strings.Join(ts[:len(ts)-1], ", ") + " or " + ts[len(ts)-1]
}

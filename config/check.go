package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func elementPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// outputColumns are the columns of the scores beside the features and propensity_<class>.
var outputColumns = []string{
	"id", "time", "source_partition", "source_offset", "source_row", "model", "status", "reason", "segment", "target",
	"base_rate", "lift", "percentile", "subspace", "relevance", "profile", "profile_lift", "why",
}

// checker finds the faults of a decoded configuration. The decoder knows the lines of its keys and takes the problems.
type checker struct{ *decoder }

// shown is a value in a message, unless it came from the environment.
func (d checker) shown(path, t string) string {
	if d.raw[path] != "" {
		return d.quote(path, t)
	}
	return t
}

// require reports a key that must be given and is not.
func (d checker) require(path, what string, present bool) {
	if present || d.excused[path] || d.bad[path] {
		return
	}
	for p := path; ; {
		i := strings.LastIndexByte(p, '.')
		if i < 0 {
			break
		}
		if p = p[:i]; d.excused[p] || d.bad[p] {
			return
		}
	}
	if d.given(path) {
		d.report(path, "", "%s is empty: %s", path, what)
		return
	}
	d.report(path, "", "%s is missing: %s", path, what)
}

// check reports the faults of a decoded configuration, the form of its values apart.
func (d checker) check(c *Config) {
	d.inBounds(c)
	d.checkName(c)
	d.checkRecord(c)
	d.checkFormat(&c.Format)
	d.checkModels(c)
	if c.Dedup != nil && c.Record.ID == "" && !d.bad["record.id"] {
		d.report("dedup", "", "dedup needs record.id, the column by which an event is known again")
	}
	checkControl(d, c)
	checkValue(d, c)
	checkSegments(d, c)
	checkInterval(d, c)
	checkRegistry(d, c)
	checkOutput(d, c)
	d.checkTopics(&c.Topics)
	d.checkKafka(&c.Kafka)
	d.checkHTTP(&c.HTTP)
	d.atMost("memory.message", "memory.in_flight", int64(c.Memory.Message), int64(c.Memory.InFlight), c.Memory.Message,
		c.Memory.InFlight)
	d.atMost("memory.message", "memory.batch", int64(c.Memory.Message)+1<<20, int64(c.Memory.Batch),
		fmt.Sprintf("%v and 1MiB for key and headers", c.Memory.Message), c.Memory.Batch)
	d.atMost("memory.message", "memory.decoded", int64(c.Memory.Message), int64(c.Memory.Decoded)/4, c.Memory.Message,
		fmt.Sprintf("a quarter of %v", c.Memory.Decoded))
	d.optionalTexts(reflect.ValueOf(c), "")
}

// either returns the first of two paths that the file gives, so that a problem of both has a line, and false when one
// of them is wrong by itself already.
func (d checker) either(a, b string) (string, bool) {
	ok := !d.bad[a] && !d.bad[b]
	if !d.given(a) && d.given(b) {
		return b, ok
	}
	return a, ok
}

// atMost reports a value that is larger than another key's.
func (d checker) atMost(small, large string, x, y int64, showX, showY any) {
	if path, ok := d.either(small, large); ok && x > y {
		d.report(path, "", "%s (%v) must be at most %s (%v)", small, showX, large, showY)
	}
}

// optionalTexts refuses an optional text that is given and empty: leaving the key out says it clearly. It runs after
// the rules of required keys, so that those speak first.
func (d checker) optionalTexts(v reflect.Value, path string) {
	leaves(v, path, func(path string, v reflect.Value) {
		if v.Kind() == reflect.String && v.Len() == 0 && d.given(path) {
			d.report(path, "", "%s is empty: leave the key out", path)
		}
	})
}

// legalName matches the names of topics that Kafka accepts.
var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

func (d checker) checkName(c *Config) {
	const longest = 200
	d.require("name", "the prefix of topics, group and transactional ids", c.Name != "")
	if c.Name != "" && (!legalName.MatchString(c.Name) || len(c.Name) > longest) {
		d.report("name", "", "name must be 1 to %d of letters, digits, '.', '_' and '-', not %s", longest,
			d.quote("name", c.Name))
	}
}

func (d checker) checkRecord(c *Config) {
	r := &c.Record
	d.require("record", "it lists the columns of a record", d.given("record"))
	d.require("record.label", "the outcome to be predicted", d.given("record.label"))
	d.require("record.label.column", "the column that holds the class", r.Label.Column != "")
	d.require("record.features", "the columns that are looked at", d.given("record.features"))
	d.checkClasses(c)
	if d.given("record.time") && !d.bad["record.time"] {
		d.require("record.time.column", "the column that holds the time", r.Time.Column != "")
	}

	columns := map[string]string{} // the role that a column has already
	for _, x := range []struct{ path, column, role string }{
		{"record.id", r.ID, "the id"}, {"record.time", r.Time.Column, "the time"}, {"record.weight", r.Weight, "the weight"},
		{"record.label.column", r.Label.Column, "the label"}, {"control.treated", c.treated(), "the treatment"},
	} {
		if x.column == "" {
			continue
		}
		if role := columns[x.column]; role != "" {
			d.report(x.path, "", "%s: column %s is already %s", x.path, d.quote(x.path, x.column), role)
			continue
		}
		columns[x.column] = x.role
	}
	checkGoals(d, c, columns)
	d.unique("record.missing", r.Missing)
	d.checkFeatures(c, columns)
}

func (d checker) checkFormat(n *Numbers) {
	decimal := "."
	if n.Decimal != "" || d.bad["format.decimal"] {
		decimal = n.Decimal // "" where it is not seen
	}
	if decimal != "." && decimal != "," && decimal != "" {
		d.report("format.decimal", "", "format.decimal must be \".\" or \",\", not %q", decimal)
	}
	switch {
	case n.Thousands == "":
	case !slices.Contains([]string{",", ".", " ", "'", "_"}, n.Thousands):
		d.report("format.thousands", "", "format.thousands must be one of , . ' _ and a blank, not %q", n.Thousands)
	case n.Thousands == decimal:
		d.report("format.thousands", "", "format.thousands and format.decimal are both %q", decimal)
	}
	d.unique("format.currency", n.Currency)
	for i, c := range n.Currency {
		path := fmt.Sprintf("format.currency[%d]", i)
		if c == "" || len(c) > 8 || strings.ContainsAny(c, "0123456789+-.,%'_ \t") {
			d.report(path, "", "%s: a sign of currency has 1 to 8 bytes and no part of a number, not %q", path, c)
		}
	}
}

func (d checker) checkClasses(x *Config) {
	l := &x.Record.Label
	const path = "record.label.classes"
	d.require(path, "list the classes, as in [no, yes]", d.given(path))
	switch n := len(l.Classes); {
	case d.given(path) && n < 2:
		d.report(path, "", "%s needs at least two classes, not %d", path, n)
	case n > MaxClasses:
		d.report(path, "", "%s lists %d classes; at most %d are possible", path, n, MaxClasses)
	}
	for i, c := range l.Classes {
		p := elementPath(path, i)
		d.plainText(p, c, "a class")
		if x.reserved(c) {
			d.report(p, "", "class %s has the name of a column of the scores: rename it", d.quote(p, c))
		}
	}
	d.unique(path, l.Classes)
	d.class("record.label.positive", l.Positive, l.Classes)
}

// class reports a text that is not one of the classes.
func (d checker) class(path, c string, classes []string) {
	if c == "" || slices.Contains(classes, c) || d.bad["record.label.classes"] || len(classes) == 0 ||
		slices.Contains(classes, "") {
		return
	}
	hint := Nearest(c, classes)
	if d.raw[path] != "" {
		hint = ""
	}
	d.report(path, hint, "%s: %s is not one of record.label.classes", path, d.quote(path, c))
}

// unique reports an element of a list of texts that stood there before.
func (d checker) unique(path string, ts []string) {
	first := make(map[string]int, len(ts))
	for i, t := range ts {
		p := elementPath(path, i)
		if d.bad[p] {
			continue
		}
		if _, ok := first[t]; ok {
			d.report(p, "", "%s lists %s twice", path, d.quote(p, t))
			continue
		}
		first[t] = i
	}
}

// plainText reports a name that cannot be shown or stored.
func (d checker) plainText(path, t, what string) {
	switch {
	case t == "":
		d.report(path, "", "%s: %s cannot be the empty text", path, what)
	case len(t) > MaxText:
		d.report(path, "", "%s: %s is at most %d bytes long, not %d", path, what, MaxText, len(t))
	case !utf8.ValidString(t) || strings.ContainsFunc(t, unicode.IsControl):
		d.report(path, "", "%s: %s holds no control characters, unlike %s", path, what, d.quote(path, t))
	}
}

func (d checker) checkFeatures(c *Config, columns map[string]string) {
	r := &c.Record
	const path = "record.features"
	switch n := len(r.Features); {
	case n == 0 && d.given(path):
		d.report(path, "", "%s is empty: list the columns that are looked at", path)
	case n > MaxFeatures:
		d.report(path, "", "%s lists %d features; at most %d are possible", path, n, MaxFeatures)
	}
	propensities := make(map[string]string, len(r.Label.Classes))
	for _, c := range r.Label.Classes {
		propensities["propensity_"+c] = c
	}
	first := make(map[string]int, len(r.Features))
	scored := false
	for i := range r.Features {
		f, p := &r.Features[i], elementPath(path, i)
		scored = scored || f.Use == UseScore
		d.require(p+".name", "the column", f.Name != "")
		d.require(p+".kind", "continuous, ordinal or nominal", f.Kind != "")
		if f.Name != "" {
			if c.reserved(f.Name) {
				d.report(p+".name", "", "feature %s has the name of a column of the scores: rename it",
					d.quote(p+".name", f.Name))
			}
			d.checkFeatureName(p+".name", f.Name, c.goalColumn(f.Name), columns, propensities)
			if line, ok := first[f.Name]; ok {
				d.report(p+".name", "", "feature %s is listed twice, first on line %d", d.quote(p+".name", f.Name), line)
			} else {
				first[f.Name] = d.line(p + ".name")
			}
		}
		d.checkLevels(p+".levels", f)
		checkCells(d, p, f, r.Missing)
		checkTrend(d, p, f, &r.Label)
	}
	if len(r.Features) > 0 && !scored {
		d.report(path, "", "%s has none with use: score: there is nothing to predict from", path)
	}
}

func (d checker) checkFeatureName(path, name, goal string, columns, propensities map[string]string) {
	d.plainText(path, name, "a feature's name")
	shown := d.quote(path, name)
	switch {
	case goal != "":
		d.report(path, "", "feature %s has the name of the scores' column for %s: rename it", shown, goal)
	case propensities[name] != "":
		d.report(path, "", "feature %s has the name of the scores' column for class %s: rename it", shown,
			quote(propensities[name]))
	case columns[name] != "":
		d.report(path, "", "column %s is already %s: it cannot be a feature too", shown, columns[name])
	case strings.HasPrefix(name, "(") && strings.HasSuffix(name, ")"):
		d.report(path, "", "feature %s: names in parentheses are those of the terms of an explanation", shown)
	}
}

func (d checker) checkLevels(path string, f *Feature) {
	given := d.given(path)
	switch {
	case f.Kind == KindContinuous && given:
		d.report(path, "", "%s: a continuous feature has no levels", path)
	case f.Kind == KindOrdinal && !given:
		d.require(path, "an ordinal feature needs its levels, in order", false)
	case f.Kind == KindOrdinal && len(f.Levels) < 2:
		d.report(path, "", "%s: an ordinal feature needs at least two levels, not %d", path, len(f.Levels))
	case given && len(f.Levels) == 0:
		d.report(path, "", "%s is empty: leave the key out for levels that are learnt", path)
	case len(f.Levels) > MaxLevels:
		d.report(path, "", "%s lists %d levels; at most %d are possible", path, len(f.Levels), MaxLevels)
	}
	for i, l := range f.Levels {
		if p := elementPath(path, i); len(l) > MaxText {
			d.report(p, "", "%s: a level is at most %d bytes long, not %d", p, MaxText, len(l))
		}
	}
	d.unique(path, f.Levels)
}

// checkModels holds the sections of the models against the record and against themselves.
func (d checker) checkModels(c *Config) {
	sets, local := c.Lift.Sets, c.Local
	d.atMost("lift.sets.min", "lift.sets.max", int64(sets.Min), int64(sets.Max), sets.Min, sets.Max)
	d.atMost("local.neighbours", "local.prototypes", int64(local.Neighbours), int64(local.Prototypes), local.Neighbours,
		local.Prototypes)
	for i, of := range c.Lift.Profiles.Of {
		p := elementPath("lift.profiles.of", i)
		d.plainText(p, of, "a class")
		d.class(p, of, c.Record.Label.Classes)
	}
	d.unique("lift.profiles.of", c.Lift.Profiles.Of)
	if c.Labels != nil && c.Labels.OnExpiry != OnExpiryDrop {
		d.class("labels.on_expiry", c.Labels.OnExpiry, append([]string{OnExpiryDrop}, c.Record.Label.Classes...))
	}
	d.horizons("propensity.half_lives", texts(reflect.ValueOf(c.Propensity.HalfLives)))
	d.horizons("kernel.widths", texts(reflect.ValueOf(c.Kernel.Widths)))
	if k := &c.Kernel; k.Shape.Full() && k.Input != KernelAuto {
		d.report("kernel.input", "", "kernel.input: %s is made of kernels of one feature each; leave it out with shape: %s",
			k.Input, k.Shape)
	}
	d.checkMonotone(c)
	checkBaseRates(d, c)
}

// horizons checks a list of numbers of which each costs time on every record.
func (d checker) horizons(path string, ts []string) {
	const most = 16
	if len(ts) == 0 || len(ts) > most {
		d.report(path, "", "%s needs 1 to %d values, not %d", path, most, len(ts))
	}
	d.unique(path, ts)
}

func (d checker) checkMonotone(c *Config) {
	const path = "propensity.monotone"
	if len(c.Propensity.Monotone) == 0 || d.unseen("record.") {
		return
	}
	var candidates []string
	kinds := map[string]*Feature{}
	for i := range c.Record.Features {
		f := &c.Record.Features[i]
		kinds[f.Name] = f
		if f.Kind != KindNominal && f.Use == UseScore {
			candidates = append(candidates, f.Name)
		}
	}
	for _, name := range sortedKeys(reflect.ValueOf(c.Propensity.Monotone)) {
		p := join(path, name)
		switch f := kinds[name]; {
		case f == nil:
			d.report(p, Nearest(name, candidates), "%s: %s is not one of record.features", path, quote(name))
		case f.Kind == KindNominal:
			d.report(p, "", "%s: %s is nominal: its levels have no order to be monotone in", path, quote(name))
		case f.Use != UseScore:
			d.report(p, "", "%s: %s has use: %s and is in no score", path, quote(name), f.Use)
		}
	}
	if c.Record.Label.Positive == "" && !d.bad["record.label.positive"] && d.given("record.label") {
		d.report(path, "", "%s needs record.label.positive: it is that class whose propensity is monotone", path)
	}
}

// checkBaseRates wants a rate above 0 for each class, all together near 1.
func checkBaseRates(d checker, c *Config) {
	const path, near = "propensity.base_rates", .01
	rates := c.Propensity.BaseRates
	if len(rates) == 0 || d.bad["record.label.classes"] || d.unseen("record.label") {
		return
	}
	var sum float64
	for _, class := range sortedKeys(reflect.ValueOf(rates)) {
		r := rates[class]
		switch {
		case !slices.Contains(c.Record.Label.Classes, class):
			d.report(join(path, class), Nearest(class, c.Record.Label.Classes), "%s: %s is not one of record.label.classes",
				path, quote(class))
			return
		case !(r > 0 && r < 1):
			d.report(join(path, class), "", "%s: the rate of %s is between 0 and 1, and not %s", path, quote(class),
				d.shown(join(path, class), formatFloat(r)))
			return
		}
		sum += r
	}
	for _, class := range c.Record.Label.Classes {
		if _, ok := rates[class]; !ok {
			d.report(path, "", "%s has no rate of %s: it needs those of all classes", path, quote(class))
			return
		}
	}
	if math.Abs(sum-1) > near {
		d.report(path, "", "%s: the rates sum to %s, and not to 1", path, formatFloat(sum))
	}
}

func (d checker) checkTopics(t *Topics) {
	const longest = 249 // Kafka's
	taken := map[string]string{}
	for _, x := range []struct{ path, topic string }{
		{"topics.events", t.Events}, {"topics.scores", t.Scores}, {"topics.labels", t.Labels}, {"topics.state", t.State},
		{"topics.model", t.Model}, {"topics.dead", t.Dead},
	} {
		if x.topic == "" {
			continue
		}
		if d.given(x.path) && (!legalName.MatchString(x.topic) || len(x.topic) > longest || x.topic == "." ||
			x.topic == "..") {
			d.report(x.path, "", "%s must be 1 to %d of letters, digits, '.', '_' and '-', not %s", x.path, longest,
				d.quote(x.path, x.topic))
			continue
		}
		// Kafka takes names that differ in '.' and '_' only for the same.
		same := strings.ReplaceAll(x.topic, ".", "_")
		if other := taken[same]; other != "" {
			at, _ := d.either(x.path, other)
			d.report(at, "", "%s and %s are the same topic %s", other, x.path, d.quote(x.path, x.topic))
			continue
		}
		taken[same] = x.path
	}
}

func (d checker) checkKafka(k *Kafka) {
	if k.Embedded != nil {
		d.require("kafka.embedded.dir", "where the broker keeps its topics", k.Embedded.Dir != "")
		for _, p := range []string{"kafka.brokers", "kafka.tls", "kafka.sasl"} {
			if d.given(p) {
				d.report(p, "", "%s and kafka.embedded exclude each other: the embedded broker is reached in the process alone", p)
			}
		}
	} else if len(k.Brokers) == 0 {
		d.report("kafka.brokers", "", "kafka.brokers is empty: list at least one host:port")
	}
	for i, b := range k.Brokers {
		d.address(elementPath("kafka.brokers", i), b, "localhost:9092", false)
	}
	d.unique("kafka.brokers", k.Brokers)
	if path, ok := d.either("kafka.tls.cert", "kafka.tls.key"); ok && k.TLS != nil &&
		(k.TLS.Cert == "") != (k.TLS.Key == "") {
		d.report(path, "", "kafka.tls.cert and kafka.tls.key belong together: give both or neither")
	}
	if k.SASL != nil {
		checkSASL(d, k.SASL)
	}
}

package config

import (
	"math"
	"reflect"
	"regexp"
	"time"
)

// bound is the range of one numeric key: low <= value <= high. Sizes are in bytes, durations in nanoseconds.
type bound struct {
	path      string // with [] for the elements of a list
	low, high float64
	openLow   bool   // low itself is refused
	openHigh  bool   // high itself is refused
	orZero    bool   // 0 is taken as well
	duration  bool   // the row is for values given as a duration, of a key that also takes plain numbers
	why       string // the message for a value beyond the range
}

const (
	second  = float64(time.Second)
	hour    = float64(time.Hour)
	days    = float64(day)
	kib     = 1 << 10
	mib     = 1 << 20
	gib     = 1 << 30
	tib     = 1 << 40
	century = 36500 * days
	exact   = 1<<53 - 1 // the largest whole number that a float64 tells from its neighbours
)

// bounds has a row for every numeric key; the keys that take auto are checked when they hold a number.
var bounds = []bound{
	{path: "lift.quantiles", low: 2, high: 100, why: "one cell tells nothing apart, and cells need records"},
	{path: "lift.sets.min", low: 1, high: 16, why: "a set has features, and its cells multiply with each"},
	{path: "lift.sets.max", low: 1, high: 16, why: "a set has features, and its cells multiply with each"},
	{path: "lift.sets.top", low: 1, high: 10000, why: "each set is counted live, in memory and in every snapshot"},
	{path: "lift.windows.top", low: 0, high: 10000, why: "the report holds them all"},
	{path: "lift.windows.min_mass", low: 0, high: 1, openHigh: true, why: "it is a share, and a window must exceed it"},
	{path: "lift.profiles.top", low: 0, high: 10000, why: "the model holds them all, for each class"},
	{path: "lift.profiles.min_support", low: 0, high: 1, openHigh: true,
		why: "it is a share, and a profile must exceed it"},
	{path: "lift.profiles.validate", low: 0, high: 0.9, why: "profiles need records to be found among"},
	{path: "lift.profiles.max_features", low: 1, high: 16,
		why: "a profile has features, and the search multiplies with each"},

	{path: "propensity.cells", low: 2, high: 255, why: "one cell tells nothing apart, and cells need records"},
	{path: "propensity.half_lives[]", low: 1, high: 1e12, orZero: true,
		why: "less than one record remembers nothing; 0 never forgets"},
	{path: "propensity.half_lives[]", duration: true, low: second, high: century,
		why: "a shorter one remembers nothing; 0 never forgets"},
	{path: "propensity.prior", low: 0, openLow: true, high: 1e6,
		why: "an empty cell needs a rate, and the data must outweigh it"},
	{path: "propensity.step", low: 0, openLow: true, high: 10,
		why: "without a step nothing is learnt, with a large one it does not settle"},
	{path: "propensity.calibration.knots", low: 2, high: 1001, why: "a line needs two points, and knots need records"},
	{path: "propensity.calibration.half_life", low: 1, high: 1e12, orZero: true,
		why: "less than one record remembers nothing; 0 never forgets"},
	{path: "propensity.calibration.half_life", duration: true, low: second, high: century,
		why: "a shorter one remembers nothing; 0 never forgets"},
	{path: "propensity.calibration.prior", low: 0, openLow: true, high: 1e6,
		why: "an empty knot needs a rate, and the data must outweigh it"},

	{path: "local.theta", low: 0, high: 1, why: "relevance is scaled to 1"},
	{path: "local.neighbours", low: 1, high: 1024, why: "somebody must vote, and each costs time on every record"},
	{path: "local.prototypes", low: 8, high: 65536, why: "neighbours are chosen among them, on every record"},
	{path: "local.newest", low: 0, high: 65536, why: "neighbours are sought among them, on every record"},
	{path: "local.width", low: 0, openLow: true, high: 10, why: "it is a share of the range of a feature"},
	{path: "local.half_life", low: 1, high: 1e12, orZero: true,
		why: "less than one record remembers nothing; 0 never forgets"},
	{path: "local.half_life", duration: true, low: second, high: century,
		why: "a shorter one remembers nothing; 0 never forgets"},
	{path: "local.pool.bytes", low: 64 * kib, high: 32 * mib, orZero: true,
		why: "fewer hold no curve, and every model holds them; 0 keeps none"},
	{path: "local.pool.half_life", low: 1, high: 1e12, orZero: true,
		why: "less than one record remembers nothing; 0 never ages"},
	{path: "local.pool.half_life", duration: true, low: second, high: century,
		why: "a shorter one remembers nothing; 0 never ages"},
	{path: "local.reference_sd", low: 0.001, high: 1, why: "scores lie between 0 and 1"},
	{path: "local.observations", low: 4, high: 512, why: "a curve needs points, and a fit costs their cube"},

	{path: "kernel.widths[]", low: 0, openLow: true, high: 1e6, why: "a width of standardised values is positive"},
	{path: "kernel.gamma1", low: 0, high: 1e9, why: "a price below 0 has no optimum"},
	{path: "kernel.gamma2", low: 0, high: 1e9, why: "a price below 0 has no optimum"},
	{path: "kernel.triples", low: 10, high: 1e6, why: "fewer say nothing, more do not fit the time of a fit"},

	{path: "trees.rounds", low: 1, high: 256, why: "each is a tree, and every record goes through it"},
	{path: "trees.leaves", low: 2, high: 64, why: "a tree of one leaf says nothing, and larger ones learn by heart"},
	{path: "trees.rate", low: 0, openLow: true, high: 1, why: "it is the share of a Newton step"},
	{path: "trees.gate", low: 0, high: 100, why: "it is a number of standard errors"},
	{path: "trees.half_life", low: 1, high: 1e12, orZero: true,
		why: "less than one record remembers nothing; 0 never forgets"},

	{path: "drift.false_alarms", low: 0.0001, high: 1, openHigh: true,
		why: "without one nothing is found, and more would hide the true ones"},

	{path: "fit.every", low: second, high: 365 * days, why: "a fit takes time itself"},
	{path: "fit.records", low: 1, high: 1e12, why: "without new records there is nothing to fit"},
	{path: "fit.warmup", low: 1, high: 1e12, why: "a first structure needs labelled records"},
	{path: "fit.reservoir.records", low: 100, high: 1e8, why: "a fit needs records, and they are held in memory"},
	{path: "fit.reservoir.bytes", low: 64 * kib, high: 2 * gib,
		why: "a fit needs records, they are held in memory, and a snapshot holds them in one part"},
	{path: "fit.budget", low: second / 10, high: 24 * hour, why: "a fit needs time, and ties up a core"},
	{path: "fit.gate", low: 0, high: 100, why: "it is how much worse, in nats, a new model may be"},
	{path: "fit.keep.versions", low: 2, high: 1000,
		why: "a rollback needs an earlier one, and every process of the stage holds them in memory"},
	{path: "fit.keep.bytes", low: mib, high: 3 * gib, orZero: true,
		why: "a model takes some, a process reads 4GiB of the topic at most, and 0 is no bound"},
	{path: "fit.seed", low: 0, high: exact, why: "it must be the same in every reader of YAML"},

	{path: "labels.window", low: second, high: century, why: "a label needs time to come"},
	{path: "labels.correct", low: second, high: century, orZero: true,
		why: "a label needs time to come; 0 is as long as the window"},
	{path: "labels.max_bytes", low: 64 * kib, high: 8 * gib, why: "records wait in memory and in every snapshot"},

	{path: "dedup.window", low: second, high: century, why: "a producer that sends again needs time to do so"},
	{path: "dedup.max_bytes", low: 64 * kib, high: 4 * gib, why: "ids are held in memory and in every snapshot"},

	{path: "control.share", low: 0.0001, high: 0.9, why: "it must hold records, and leave some to be targeted"},
	{path: "control.seed", low: 0, high: exact, why: "it must be the same in every reader of YAML"},

	{path: "value.hit", low: 0, openLow: true, high: dearest, why: "a hit that is worth nothing is not sought"},
	{path: "value.contact", low: 0, high: dearest, why: "a contact that earns by itself needs no score"},

	{path: "points.base", low: -1e6, high: 1e6, why: "points are read by people"},
	{path: "points.odds", low: 0, openLow: true, high: 1e6, why: "odds of none or of all have no logarithm"},
	{path: "points.pdo", low: 0, openLow: true, high: 1e6, why: "no number of points would double the odds"},

	{path: "min_count", low: 1, high: 1e6, why: "figures of no record are none, and larger groups show all"},
	{path: "topics.partitions", low: 1, high: 100000, why: "a topic has at least one, and brokers bear only so many"},
	{path: "topics.replication", low: 1, high: 128,
		why: "a topic has at least one replica, and no more than there are brokers"},

	{path: "commit.interval", low: second / 1000, high: 30 * second,
		why: "a transaction takes time, and brokers end one that is open for too long"},
	{path: "snapshot.interval", low: second, high: 24 * hour, why: "a restart replays the records after the last one"},
	{path: "snapshot.share", low: 0.001, high: 1, why: "it is a share; below it a restart would replay almost everything"},
	{path: "snapshot.bytes_per_second", low: 64 * kib, high: tib, why: "a snapshot must end before the next one begins"},

	{path: "memory.in_flight", low: 64 * kib, high: tib, why: "a message must fit"},
	{path: "memory.tail", low: 64 * kib, high: 8 * gib,
		why: "a new structure is filled from the tail, and every snapshot holds it"},
	{path: "memory.fit", low: mib, high: tib, why: "a fit needs records"},
	{path: "memory.message", low: kib, high: 511 * mib,
		why: "a message must fit, and Kafka carries no messages of four times more, which the topics take"},
	{path: "memory.batch", low: mib + kib, high: 2*gib - 1,
		why: "a message must fit, and Kafka carries no larger batches"},
	{path: "memory.decoded", low: mib, high: tib, why: "a message must fit when it is decoded"},

	{path: "memory.recency", low: 64 * kib, high: 4 * gib, why: "ids are held in memory and in every snapshot"},

	{path: "policy.future", low: 0, high: century, why: "clocks differ, but not by that"},
	{path: "policy.past", low: second, high: century, orZero: true,
		why: "messages take their time to arrive; 0 takes any time"},
	{path: "policy.held", low: second, high: 7 * days, why: "a transaction takes time, and labels wait for it"},
	{path: "policy.dead_share", low: 0, high: 1, why: "it is a share; 0 never pauses"},
	{path: "output.why", low: 0, high: 1000, why: "each is a row of a list in every score"},
	{path: "http.score.rows", low: 1, high: 100000, why: "each waits for the others of its request"},
	{path: "http.score.body", low: kib, high: 16 * mib, why: "a record must fit, and requests are held in memory"},
	{path: "http.score.requests", low: 1, high: 1024, why: "each holds its records in memory"},
	{path: "http.score.rate", low: 0, high: 1e9, why: "it is a number of records a second; 0 is no bound"},
	{path: "http.score.wait", low: second / 1000, high: 30 * second,
		why: "a partition has a message in hand, and callers wait"},
	{path: "shutdown.grace", low: second, high: hour,
		why: "work in flight needs time to end, and a stop waits for it"},
}

// measure is a number to be held against a bound.
type measure struct {
	value    float64
	duration bool // it was given as a duration where plain numbers are taken too
	show     func(float64) string
}

// measureOf returns the number that a single value holds, and whether it holds one.
func measureOf(v reflect.Value) (measure, bool) {
	switch x := v.Interface().(type) {
	case ByteSize:
		return measure{float64(x), false, func(f float64) string { return ByteSize(f).String() }}, true
	case Duration:
		return measure{float64(x), false, showDuration}, true
	case HalfLife:
		if x.Duration != 0 {
			return measure{float64(x.Duration), true, showDuration}, true
		}
		return measure{x.Records, false, formatFloat}, true
	case AutoFloat:
		return measure{x.Value, false, formatFloat}, !x.Auto
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return measure{float64(v.Int()), false, formatFloat}, true
	case reflect.Float64:
		return measure{v.Float(), false, formatFloat}, true
	}
	return measure{}, false
}

func showDuration(f float64) string { return Duration(f).String() }

func (b *bound) holds(x float64) bool {
	if x == 0 && b.orZero {
		return true
	}
	return !math.IsNaN(x) && (x > b.low || x == b.low && !b.openLow) && (x < b.high || x == b.high && !b.openHigh)
}

// rule writes the range in words.
func (b *bound) rule(show func(float64) string) string {
	low := "at least "
	if b.openLow {
		low = "above "
	}
	high := " and at most "
	if b.openHigh {
		high = " and below "
	}
	s := low + show(b.low) + high + show(b.high)
	if b.orZero {
		s = "0, or " + s
	}
	return s
}

var index = regexp.MustCompile(`\[\d+\]`)

// inBounds reports every number that is out of its bounds.
func (d checker) inBounds(c *Config) {
	check := func(path string, v reflect.Value) {
		m, ok := measureOf(v)
		if !ok {
			return
		}
		key := index.ReplaceAllString(path, "[]")
		for i := range bounds {
			b := &bounds[i]
			if b.path == key && b.duration == m.duration && !b.holds(m.value) {
				d.report(path, "", "%s must be %s, not %s: %s", path, b.rule(m.show), d.shown(path, m.show(m.value)), b.why)
			}
		}
	}
	leaves(reflect.ValueOf(c), "", func(path string, v reflect.Value) {
		if v.Kind() != reflect.Slice {
			check(path, v)
			return
		}
		for i := range v.Len() {
			check(elementPath(path, i), v.Index(i))
		}
	})
}

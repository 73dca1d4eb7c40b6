package assemble

import (
	"fmt"
	"math"

	"liftstream/model"
)

// netRecords makes the records of a partition of the net, each a function of its position alone.
type netRecords struct {
	schema    *model.Schema
	classes   int
	goals     int
	partition int32
	began     int64
	ids       bool
}

// netStep is the time between two records, in nanoseconds: the windows of the net are whole numbers of steps, so that
// records lie at their ends.
const netStep = 30e9

// netTruth is the outcome of a record.
type netTruth struct {
	class    int32
	outcomes model.Outcomes
	treated  model.Treatment
}

// uniform is number k of the position, between 0 and 1.
func (r *netRecords) uniform(i int, k uint64) float64 {
	return float64(model.Hash(77, uint64(r.partition), uint64(i), k)>>11) / (1 << 53)
}

// source is the position that a record repeats: every 41st is the one of four positions before, sent again.
func source(i int) int {
	if i%41 == 40 {
		return i - 4
	}
	return i
}

func (r *netRecords) id(i int) string {
	i = source(i)
	if r.uniform(i, 1) < .05 {
		return ""
	}
	return fmt.Sprintf("c%d-%d", r.partition, int(r.uniform(i, 2)*150)+150*(i/300))
}

// time ascends by netStep, but for records that come late; those that are sent again lie at the end of a window of four
// steps, or one nanosecond behind it.
func (r *netRecords) time(i int) int64 {
	at := r.began + int64(i)*netStep
	switch {
	case i%41 == 40 && i%82 == 40:
		return at + 1
	case i%53 == 52:
		return at - 7*netStep
	}
	return at
}

func (r *netRecords) number(name string, i int) float64 {
	u := func(k uint64) float64 { return r.uniform(i, k) }
	switch name {
	case "age":
		return 20 + math.Floor(60*u(10))
	case "income":
		switch {
		case u(11) < .07:
			return math.NaN()
		case u(11) < .12:
			return -999
		case u(11) < .15:
			return -888
		case u(11) < .16:
			return math.Inf(1)
		}
		return math.Round(100*math.Exp(6+2*u(12))) / 100
	case "limit":
		return []float64{0, 500, 2000, 100, 501, 5000}[int(6*u(13))]
	case "drifting":
		return u(14) + math.Floor(float64(i)/500)*.4
	case "shoe":
		return 35 + math.Floor(12*u(15))
	case "hour":
		return math.Floor(float64(r.time(i)%86400e9) / 3600e9)
	case "constant":
		return 7
	case "empty":
		return math.NaN()
	}
	return u(16)
}

func (r *netRecords) level(name string, i int) (string, bool) {
	u := func(k uint64) float64 { return r.uniform(i, k) }
	switch name {
	case "job":
		switch {
		case i%50 == 3:
			return "seldom", true // 20 of a thousand, the least number with figures
		case i%50 == 4 && i%1000 != 4:
			return "scarce", true // one fewer
		case u(20) < .04:
			return "", false
		}
		return []string{"clerk", "cook", "smith", "TRUE"}[int(4*u(21)*u(21))], true
	case "city":
		return fmt.Sprint("city ", int(120*u(22)*u(22))), true
	case "education":
		return []string{"primary", "secondary", "tertiary", "other"}[int(3.05*u(23))], true
	case "code": // more than a compact table has room for
		return fmt.Sprint("code ", int(7000*u(27))), true
	case "region":
		return []string{"north", "south", "east", "west"}[int(4*u(24))], u(25) > .1
	}
	return fmt.Sprint(name, int(3*u(26))), true
}

func (r *netRecords) truth(i int) (t netTruth) {
	i = source(i)
	age, income := r.number("age", i), r.number("income", i)
	job, _ := r.level("job", i)
	education, _ := r.level("education", i)
	eta := (age - 50) / 12
	if income > 500 {
		eta += 1.2
	}
	if job == "cook" && age > 40 {
		eta -= 2
	}
	if education == "tertiary" {
		eta += .7
	}
	if i > 700 {
		eta = -eta/2 + r.number("drifting", i)
	}
	u := func(k uint64) float64 { return r.uniform(i, k) }
	t.treated = []model.Treatment{model.TreatmentUnknown, model.Untreated, model.Treated}[int(3*u(30))]
	if t.treated == model.Treated {
		eta += .5
	}
	p := 1 / (1 + math.Exp(-eta))
	for t.class = int32(r.classes - 1); t.class > 0 && u(31) > p; t.class-- {
		p += (1 - p) / 3
	}
	for g := range r.goals {
		class := int32(0)
		if g < 2 && u(uint64(40+g)) < .2+.5*p*float64(1-g)+.3*r.number("hour", i)/24 {
			class = 1
		}
		if u(uint64(50+g)) < .15 {
			continue // nobody knows it yet
		}
		t.outcomes = t.outcomes.With(g, class)
	}
	return t
}

// netLabel tells how the label of a record comes: with it, by its id or its position some records later, or never.
type netLabel int

const (
	netAtOnce netLabel = iota
	netByID
	netByPlace
	netNever
)

func (r *netRecords) label(i int) netLabel {
	switch u := r.uniform(i, 60); {
	case u < .6:
		return netAtOnce
	case u < .75 && r.ids && r.id(i) != "":
		return netByID
	case u < .92:
		return netByPlace
	}
	return netNever
}

func (r *netRecords) weight(i int) float64 {
	switch u := r.uniform(i, 61); {
	case u < .02:
		return 0
	case u < .5:
		return 1
	default:
		return math.Round(16*u) / 8
	}
}

// batch is the message of the records from one position to another.
func (r *netRecords) batch(from, to int) *model.Batch {
	b := &model.Batch{N: to - from, Columns: make([]model.Column, len(r.schema.Features)), Partition: r.partition,
		Offset: int64(from)}
	codes := make([]map[string]uint32, len(r.schema.Features))
	for i := from; i < to; i++ {
		for f := range r.schema.Features {
			c, x := &b.Columns[f], &r.schema.Features[f]
			if x.Kind == model.Continuous {
				c.Float = append(c.Float, r.number(x.Name, source(i)))
				continue
			}
			text, ok := r.level(x.Name, source(i))
			if !ok {
				c.Code = append(c.Code, model.MissingCode)
				continue
			}
			if codes[f] == nil {
				codes[f] = map[string]uint32{}
			}
			code, known := codes[f][text]
			if !known {
				code = uint32(len(c.Levels))
				codes[f][text], c.Levels = code, append(c.Levels, text)
			}
			c.Code = append(c.Code, code)
		}
		truth := r.truth(i)
		class, outcomes, treated := model.Unlabelled, model.Outcomes(0), model.TreatmentUnknown
		if r.label(i) == netAtOnce {
			class, outcomes, treated = truth.class, truth.outcomes, truth.treated
			if i%97 == 96 {
				class = model.UnknownClass
			}
		} else if i%5 == 0 {
			outcomes = truth.outcomes // the goals come first
		}
		b.Label = append(b.Label, class)
		if r.goals > 0 {
			b.Outcomes = append(b.Outcomes, outcomes)
		}
		b.Treated, b.Weight = append(b.Treated, treated), append(b.Weight, r.weight(i))
		b.Time, b.Row = append(b.Time, r.time(i)), append(b.Row, int32(i-from))
		if r.ids {
			b.ID = append(b.ID, r.id(i))
		}
	}
	return b
}

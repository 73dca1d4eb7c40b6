package codec

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"liftstream/codec/internal/column"
	"liftstream/model"
)

// Goal is a further label of a record, of two classes (model.Outcomes).
type Goal struct {
	// Column holds its class. It may be null or absent, in events as in labels.
	Column  string
	Classes []string // that whose propensity the scores have is the last one
}

// goalColumns makes the columns of classes of the goals.
func goalColumns(d *Decoder) {
	d.goals = make([]classColumn, len(d.o.Goals))
	for k := range d.goals {
		d.goals[k] = classColumn{known: model.NewClassIndex(d.o.Goals[k].Classes), missing: d.missing,
			account: &d.in.account, found: &d.Findings}
	}
}

// planGoals finds the columns of the goals, -1 where a goal has none.
func planGoals(d *Decoder, s *arrow.Schema, p *plan) *MessageError {
	if len(d.o.Goals) == 0 {
		return nil
	}
	p.goals = make([]int, len(d.o.Goals))
	for k := range p.goals {
		var err *MessageError
		if p.goals[k], err = findAny(s, d.o.Goals[k].Column, wantLevel, level); err != nil {
			return err
		}
	}
	return nil
}

// planClasses finds the label, and the goals: labels need the column of one of them.
func planClasses(d *Decoder, s *arrow.Schema, p *plan) (err *MessageError) {
	if len(d.o.Goals) == 0 {
		p.label, err = find(s, d.o.Label, wantLevel, level)
		return err
	}
	if p.label, err = findAny(s, d.o.Label, wantLevel, level); err != nil {
		return err
	}
	if err = planGoals(d, s, p); err != nil {
		return err
	}
	found := p.label >= 0
	for _, at := range p.goals {
		found = found || at >= 0
	}
	if !found {
		return &MessageError{Reason: ReasonSchema, Column: d.o.Label,
			Err: fmt.Errorf("missing, and so is the column of every goal%s", alike(s, d.o.Label))}
	}
	return nil
}

// fillGoals reads the classes of the goals, nil where the records have no column of one.
func fillGoals(d *Decoder, dst []model.Outcomes, recs []arrow.Record, p *plan, rows int) []model.Outcomes {
	found := false
	for k, col := range p.goals {
		if col < 0 {
			continue
		}
		if !found {
			dst = resize(dst, rows)
			clear(dst)
			found = true
		}
		c, at := &d.goals[k], 0
		c.begin()
		d.outcomes = resize(d.outcomes, rows)
		for _, r := range recs {
			a := r.Column(col)
			part := d.outcomes[at : at+a.Len()]
			if dict, ok := a.(*array.Dictionary); ok {
				c.byDictionary(part, dict)
			} else {
				for i := range part {
					part[i] = c.value(a, i)
				}
			}
			at += a.Len()
		}
		for i, class := range d.outcomes[:rows] {
			dst[i] = dst[i].With(k, class)
		}
	}
	if !found {
		return nil
	}
	return dst
}

// told reports whether a label tells a class, of the label or of a goal.
func told(l *model.Labels, i int) bool {
	if l.Class[i] >= 0 {
		return true
	}
	if l.Outcomes == nil {
		return false
	}
	known, _ := l.Outcomes[i].Listed()
	return known != 0
}

// goalColumn is the column of the propensity of a goal. It follows the columns of every stage.
var goalColumn = scoreColumn{typ: typeFloat64, nullable: true, asked: true, fill: goalPropensity}

func goalPropensity(goal int) (builder, func(x *scored)) {
	c := &column.Fixed[float64]{}
	return c, func(x *scored) {
		n := len(x.s.Goals) / max(x.b.N, 1)
		for i := range x.b.N {
			if goal >= n {
				c.Add(0, false)
				continue
			}
			p := x.s.Goals[i*n+goal]
			c.Add(p, known(p))
		}
	}
}

// GoalLiftColumn is the name of the column of the lift of a goal, and GoalWhyColumn that of its reasons.
func GoalLiftColumn(goal string) string { return ScoreLift.String() + "_" + goal }

// GoalWhyColumn is the name of the column of the reasons of a goal.
func GoalWhyColumn(goal string) string { return ScoreWhy.String() + "_" + goal }

// goalLift is the column of the lift of a goal, and goalWhy that of its reasons. Both are null where no model knows the
// goal.
var (
	goalLift = scoreColumn{typ: typeFloat64, nullable: true, asked: true, fill: func(goal int) (builder, func(x *scored)) {
		c := &column.Fixed[float64]{}
		return c, func(x *scored) {
			for i := range x.b.N {
				lift := x.goalLift(i, goal)
				c.Add(lift, known(lift))
			}
		}
	}}
	goalWhy = scoreColumn{typ: typeReasons, nullable: true, asked: true, fill: func(goal int) (builder, func(x *scored)) {
		elements := &reasons{}
		c := &listBuilder{elements: elements}
		return c, func(x *scored) {
			for i := range x.b.N {
				has := known(x.goalLift(i, goal))
				if has {
					elements.addAll(x, x.s.GoalWhyOf(i, goal))
				}
				c.End(elements.Len(), has)
			}
		}
	}}
)

// goalLift is the lift of a goal of record i, NaN where it is not known.
func (x *scored) goalLift(i, goal int) float64 {
	n := len(x.s.GoalLift) / max(x.b.N, 1)
	if goal >= n {
		return math.NaN()
	}
	return x.s.GoalLift[i*n+goal]
}

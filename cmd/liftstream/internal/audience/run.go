package audience

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"liftstream/codec"
	"liftstream/model"
)

// Choice says who is chosen.
type Choice struct {
	Class string
	// Classes are those of the scores; nil where no configuration tells, then the first table does.
	Classes []string
	// Goal says that Class is the name of a goal; where no configuration tells, the first table does.
	Goal bool
	Cut  Cut
	With With
	// Control finds members of the control share that the scores do not tell: they may be older than the section, or than
	// its larger share.
	Control model.Control
	Unit    time.Duration // of times that are numbers, 0 = none is stated
	Most    int           // ids that may be held
	// Records says that the scores are those of a stage: several of one record, without an id, count as one.
	Records bool
	// ByID says, with Records, that its records have ids now; its former scores may be without. Of files the first table
	// tells.
	ByID bool
}

// Audience is a chosen audience, whose rows are still to be read.
type Audience struct {
	Choice
	Summary Summary
	IDs     bool // members have ids
	NoID    int  // scores that have none among others that have one, and were left out
	Untimed int  // scores whose time cannot be read
	Unread  int  // messages that cannot be read, for the caller to fill in
	// Flat counts the rows, of those written so far, whose reasons are text that no program reads.
	Flat int

	scan    Scan
	members []Member
	known   bool // whether IDs and Classes are
}

// Choose reads all scores and chooses.
func Choose(ctx context.Context, scan Scan, c Choice) (*Audience, error) {
	a := &Audience{Choice: c, scan: scan}
	s := &Selection{Most: c.Most}
	err := scan(ctx, func(t *codec.Table, at Place, stamp int64) error {
		r, err := a.reader(t)
		if err != nil {
			return err
		}
		s.Together = a.IDs || c.Records
		for i := range t.Rows() {
			x := Score{At: at, Time: noTime, Propensity: math.NaN()}
			x.At.Row += int32(i)
			if a.IDs {
				if x.ID, _ = r.Text(codec.ScoreID, i); x.ID == "" {
					a.NoID++
					continue
				}
			}
			a.fill(&x, r, i, stamp)
			if err := s.Add(&x); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.members, a.Summary = s.Choose(c.Cut, c.With)
	return a, nil
}

// fill reads the columns for the selection of row i.
func (a *Audience) fill(x *Score, r *codec.ScoreReader, i int, stamp int64) {
	x.Record.Partition, x.Record.Offset, x.Record.Row = r.Place(i)
	if p, ok := r.Known(0, i); ok {
		x.Propensity = p
	}
	if t, ok := r.Time(i, a.Unit); ok {
		x.Time = t
	} else if _, has := r.Text(codec.ScoreTime, i); has {
		a.Untimed++
	} else {
		x.Time = stamp // the time of a record without one of its own is that of its message
	}
	status, _ := r.Text(codec.ScoreStatus, i)
	x.Untrained = status == model.StatusUntrained.String()
	if a.Goal {
		_, ok, has := r.GoalLift(i)
		x.Untrained = x.Untrained || has && !ok
	}
	flag, _ := r.Text(codec.ScoreControl, i)
	x.Control = flag == "true" || a.Control.Holds(x.ID, x.Record.Partition, x.Record.Offset, x.Record.Row)
}

// reader finds the columns of a table. All tables of files have ids or none has; those of a stage are read as
// Choice.ByID says.
func (a *Audience) reader(t *codec.Table) (*codec.ScoreReader, error) {
	classes, goals := propensities(t)
	r, err := codec.NewPropensityReader(t, a.Class)
	isGoal := slices.Contains(goals, a.Class)
	if err == nil && !a.Goal && !isGoal && !slices.Contains(classes, a.Class) && !slices.Contains(a.Classes, a.Class) {
		err = fmt.Errorf("%s is a bound of an interval, and %s no class", codec.PropensityColumn(a.Class), a.Class)
	}
	if err != nil {
		if len(classes) > 0 {
			err = fmt.Errorf("%w; its classes are %s", err, strings.Join(classes, ", "))
		}
		if len(goals) > 0 {
			err = fmt.Errorf("%w, and its goals %s", err, strings.Join(goals, ", "))
		}
		return nil, &foreignError{err}
	}
	ids := r.Has(codec.ScoreID)
	if !a.known {
		if a.known, a.IDs = true, ids; a.Records {
			a.IDs = a.ByID
		}
		if a.Classes == nil {
			a.Classes, a.Goal = classes, isGoal
		}
	}
	if ids != a.IDs && !a.Records {
		return nil, errors.New("some scores have the column id and others have not: an audience is of one kind")
	}
	return r, nil
}

// propensities lists the classes that a table has propensities of, which stand together, and the goals, whose columns
// come behind others. The bounds of an interval (output.interval) are named like those of goals.
func propensities(t *codec.Table) (classes, goals []string) {
	apart := false // columns of another kind have come behind the first class
	for _, c := range t.Columns() {
		name, ok := strings.CutPrefix(c.Name, codec.PropensityColumn(""))
		bound := c.Name == codec.ScoreLow.String() || c.Name == codec.ScoreHigh.String()
		switch {
		case ok && !apart:
			classes = append(classes, name)
		case ok && !bound:
			goals = append(goals, name)
		}
		apart = apart || !ok && len(classes) > 0
	}
	return classes, goals
}

const (
	// chunk is the number of members whose rows are held at a time.
	chunk = 1 << 17
	// tableRows is the number of rows of a written table.
	tableRows = 4096
)

// Write reads the rows of the members and gives them to write as tables, by rank; one without rows where there are no
// members. It reads the input once for each chunk of members.
func (a *Audience) Write(ctx context.Context, write func(t *codec.Table) error) error {
	if len(a.members) == 0 {
		return write(codec.NewAudienceTable(nil, a.Class, a.IDs))
	}
	for from := 0; from < len(a.members); from += chunk {
		rows, err := a.rows(ctx, from, min(from+chunk, len(a.members)))
		if err != nil {
			return err
		}
		for len(rows) > 0 {
			n := min(tableRows, len(rows))
			if err := write(codec.NewAudienceTable(rows[:n], a.Class, a.IDs)); err != nil {
				return err
			}
			rows = rows[n:]
		}
	}
	return nil
}

// ErrGone is returned when scores that were chosen are there no longer.
var ErrGone = errors.New("scores of the audience were deleted while it was read; run the command again")

// rows reads the members from rank from+1 to to.
func (a *Audience) rows(ctx context.Context, from, to int) ([]codec.AudienceRow, error) {
	at := make(map[Place]int, to-from)
	for k := from; k < to; k++ {
		at[a.members[k].At] = k - from
	}
	rows := make([]codec.AudienceRow, to-from)
	found := 0
	err := a.scan(ctx, func(t *codec.Table, place Place, _ int64) error {
		r, err := a.reader(t)
		if err != nil {
			return err
		}
		for i := range t.Rows() {
			p := place
			p.Row += int32(i)
			if k, ok := at[p]; ok {
				a.row(&rows[k], r, i)
				rows[k].Rank = int64(from+k) + 1
				found++
			}
		}
		return nil
	})
	if err == nil && found != to-from {
		err = ErrGone
	}
	return rows, err
}

// row copies the columns of an audience from row i. Base rate, lift, percentile and reasons speak of the target of the
// score. Where that is another class they are null, but for the base rate of the other one of two classes and the lift
// by it.
func (a *Audience) row(x *codec.AudienceRow, r *codec.ScoreReader, i int) {
	x.ID, x.Segment = r.Kept(codec.ScoreID, i), r.Kept(codec.ScoreSegment, i)
	x.Partition, x.Offset, x.Row = r.Place(i)
	x.Propensity, _ = r.Known(0, i)
	figure := func(c codec.Score) float64 {
		if v, ok := r.Float(c, i); ok {
			return v
		}
		return math.NaN()
	}
	if a.Goal {
		a.goalRow(x, r, i)
		return
	}
	x.BaseRate, x.Lift, x.Percentile = figure(codec.ScoreBaseRate), figure(codec.ScoreLift), percentile(r, i)
	if target, _ := r.Text(codec.ScoreTarget, i); target == a.Class || !r.Has(codec.ScoreTarget) {
		x.Why = r.Why(i)
		if text, ok := r.Text(codec.ScoreWhy, i); ok && x.Why == nil && text != "[]" {
			a.Flat++
		}
		return
	}
	x.Percentile = math.NaN()
	if len(a.Classes) != 2 || math.IsNaN(x.Lift) {
		x.Lift = math.NaN()
	}
	if len(a.Classes) != 2 {
		x.BaseRate = math.NaN()
		return
	}
	x.BaseRate = 1 - x.BaseRate
	if !math.IsNaN(x.Lift) {
		x.Lift = x.Propensity / x.BaseRate
	}
}

// goalRow copies the lift and the reasons of a goal, which scores have where output.goals is why. Its base rate is its
// propensity over its lift, and it has no percentile: the rank says as much.
func (a *Audience) goalRow(x *codec.AudienceRow, r *codec.ScoreReader, i int) {
	x.BaseRate, x.Lift, x.Percentile = math.NaN(), math.NaN(), math.NaN()
	if lift, ok, _ := r.GoalLift(i); ok && lift > 0 {
		x.Lift, x.BaseRate = lift, x.Propensity/lift
	}
	var flat bool
	if x.Why, flat = r.GoalWhy(i); flat {
		a.Flat++
	}
}

// percentile is that of a score, by its shortest text: a float32 that was widened has digits that nobody wrote.
func percentile(r *codec.ScoreReader, i int) float64 {
	text, _ := r.Text(codec.ScorePercentile, i)
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v
	}
	return math.NaN()
}

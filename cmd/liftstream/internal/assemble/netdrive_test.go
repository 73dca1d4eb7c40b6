package assemble

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"liftstream/model"
	"liftstream/model/groups"
	"liftstream/model/modeltest"
	"liftstream/model/report"
)

// net is a stage of two partitions, driven by hand, whose figures are written down.
type net struct {
	t          *testing.T
	f          modeltest.Figures
	stage      *Stage
	partitions []*model.Partition
	records    []*netRecords
	at         []int // position of each partition
	model      *model.Model
	tally      *groups.Tally
	phase      *netScores
	told       []int   // records before it have their labels, by partition
	starts     [][]int // first positions of the messages, by partition
	files      *model.Builder
	sparse     int // one of so many records is written down, and no label
}

// netPartitions is the number of partitions of the net.
const netPartitions = 2

func newNet(t *testing.T, text string) *net {
	n := &net{t: t, at: make([]int, netPartitions), told: make([]int, netPartitions),
		starts: make([][]int, netPartitions), phase: &netScores{}, sparse: 37}
	n.use(stage(t, text))
	for p := range int32(netPartitions) {
		n.partitions = append(n.partitions, model.NewPartition(n.stage.Spec, p))
	}
	return n
}

// use makes the configuration of the records from here on that of a stage.
func (n *net) use(s *Stage) {
	n.stage = s
	n.tally = groups.NewTally(s.Spec.Schema, s.Segments, s.Config.MinCount)
	n.files = model.NewBuilder(s.Spec)
	n.records = nil
	for p := range int32(netPartitions) {
		n.records = append(n.records, &netRecords{schema: s.Spec.Schema, classes: len(s.Spec.Schema.Classes),
			goals: len(s.GoalNames()), partition: p, began: 1_700_000_000e9, ids: s.Config.Record.ID != ""})
	}
}

// netScores are the results of a phase, of which the sums are written down.
type netScores struct {
	Scores model.Scores
	Labels []model.LabelCounts
	Again  []int32 // rows of duplicates
}

// run takes both partitions on to a position, message by message; each 13th record is written down.
func (n *net) run(name string, to int) {
	sizes := []int{1, 17, 32, 3, 24}
	if n.sparse > 100 {
		sizes = []int{300, 7, 110}
	}
	for turn := 0; ; turn++ {
		p := turn % netPartitions
		if n.at[p] >= to {
			if slices.Min(n.at) >= to {
				break
			}
			continue
		}
		from := n.at[p]
		end := min(from+sizes[turn%len(sizes)], to)
		n.message(name, p, from, end)
		n.at[p] = end
		n.labels(name, p)
	}
	n.f.Inside(name+" all", n.phase)
	n.phase = &netScores{}
	for p := range n.partitions {
		n.figures(fmt.Sprintf("%s p%d", name, p), n.partitions[p])
	}
	if n.tally != nil {
		n.f.JSON(n.t, name+" groups", n.tally.View())
	}
}

func (n *net) message(name string, p, from, to int) {
	b, part := n.records[p].batch(from, to), n.partitions[p]
	n.starts[p] = append(n.starts[p], from)
	n.files.Add(n.records[p].batch(from, to))
	if again := part.Sieve.Sift(b); len(again) > 0 {
		if n.phase.Again = append(n.phase.Again, again...); n.sparse < 100 {
			n.f.Add(fmt.Sprintf("%s p%d %d again", name, p, from), again)
		}
	}
	part.Recency.Fill(b)
	var scores model.Scores
	part.Events(b, &scores)
	n.tally.Add(b, &scores)
	for i := range scores.N {
		if n.phase.Scores.N == 0 {
			n.phase.Scores.Reset(0, scores.Classes)
		}
		n.phase.Scores.Append(&scores, i)
		if at := from + int(b.Row[i]); at%n.sparse == 5 {
			n.score(fmt.Sprintf("%s p%d #%d", name, p, at), &scores, i, part.Levels())
		}
	}
}

// score writes down all columns of a score.
func (n *net) score(name string, s *model.Scores, i int, l *model.Levels) {
	schema, k := n.stage.Spec.Schema, s.Classes
	n.f.Add(name, s.Model, s.Status[i], s.Reason[i], s.Segment[i], s.Target[i], s.P[i*k:(i+1)*k], s.BaseRate[i], s.Lift[i],
		"percentile", s.Percentile[i], "profile", s.Profile[i], s.ProfileLift[i])
	features, relevance := s.SubspaceOf(i)
	n.f.Add(name+" subspace", report.Names(schema, features), relevance)
	n.why(name+" why", s, s.WhyOf(i), l)
	line := []any{}
	if len(s.Control) > 0 {
		line = append(line, "control", s.Control[i])
	}
	if len(s.Uplift) > 0 {
		line = append(line, "uplift", s.Uplift[i].Value, s.Uplift[i].Low, s.Uplift[i].High)
	}
	if len(s.Intervals) > 0 {
		line = append(line, "interval", s.Intervals[i].Low, s.Intervals[i].High, s.IntervalLevel)
	}
	if len(s.Unusual) > 0 {
		line = append(line, "unusual", s.Unusual[i])
	}
	if g := len(s.Goals) / s.N; g > 0 {
		line = append(line, "goals", s.Goals[g*i:g*(i+1)], fmt.Sprint(s.GoalFitted[g*i:g*(i+1)]))
		if len(s.GoalLift) > 0 {
			line = append(line, s.GoalLift[g*i:g*(i+1)])
		}
		for j := g * i; j < g*(i+1) && len(s.GoalWhyEnd) > 0; j++ {
			from := int32(0)
			if j > 0 {
				from = s.GoalWhyEnd[j-1]
			}
			n.why(fmt.Sprintf("%s goal %d why", name, j%g), s, s.GoalWhy[from:s.GoalWhyEnd[j]], l)
		}
	}
	n.f.Add(name+" more", line...)
}

func (n *net) why(name string, s *model.Scores, why []model.Reason, l *model.Levels) {
	var line []any
	for _, r := range why {
		feature, value := fmt.Sprint("term ", r.Feature), any(r.Value)
		if r.Feature >= 0 {
			f := &n.stage.Spec.Schema.Features[r.Feature]
			if feature = f.Name; f.Kind != model.Continuous && !math.IsNaN(r.Value) {
				value = l.Text(int(r.Feature), r.Value)
			}
		}
		line = append(line, feature, value, r.Effect, r.Lift, r.N, ";")
	}
	n.f.Add(name, line...)
}

// labels tells the labels that are due: those of records that came at least 25 records ago, by their ids or places; a
// part of them is corrected later.
func (n *net) labels(name string, p int) {
	r := n.records[p]
	by := map[netLabel]*model.Labels{netByID: {}, netByPlace: {}}
	tell := func(how netLabel, i int, class int32, o model.Outcomes) {
		l := by[how]
		l.N++
		l.Class, l.Outcomes, l.Time = append(l.Class, class), append(l.Outcomes, o), append(l.Time, r.time(i)+25*netStep)
		l.Treated = append(l.Treated, r.truth(i).treated)
		if how == netByID {
			l.ID = append(l.ID, r.id(i))
			return
		}
		from := n.messageOf(p, i)
		l.Partition, l.Offset = append(l.Partition, int32(p)), append(l.Offset, int64(from))
		l.Row = append(l.Row, int32(i-from))
	}
	for ; n.told[p] < n.at[p]-25; n.told[p]++ {
		i := n.told[p]
		truth := r.truth(i)
		how := r.label(i)
		if how == netByID || how == netByPlace {
			class := truth.class
			if i%7 == 1 {
				class = (class + 1) % int32(r.classes) // to be corrected
			}
			if i%19 == 2 {
				class = model.Unlabelled // a goal alone
			}
			tell(how, i, class, truth.outcomes)
			if i%11 == 3 {
				tell(how, i, class, truth.outcomes) // told twice
			}
		}
		if i%7 == 1 && how != netNever || i%31 == 30 {
			tell(netByPlace, i, truth.class, truth.outcomes.With(0, int32(i%2)))
		}
	}
	for _, how := range []netLabel{netByID, netByPlace} {
		l := by[how]
		if r.goals == 0 {
			l.Outcomes = nil
		}
		if l.N > 0 {
			c := n.partitions[p].Labels(l)
			n.phase.Labels = append(n.phase.Labels, c)
			if n.sparse < 100 {
				n.f.Add(fmt.Sprintf("%s p%d %d labels", name, p, n.at[p]), fmt.Sprintf("%+v", c))
			}
		}
	}
}

// messageOf is the offset of the message of a record.
func (n *net) messageOf(p, i int) int {
	k, ok := slices.BinarySearch(n.starts[p], i)
	if !ok {
		k--
	}
	return n.starts[p][k]
}

func (n *net) figures(name string, p *model.Partition) {
	n.f.Add(name, p.Labelled(), p.Seen(), p.NextOffset(), p.ModelVersion(), p.Trained(), fmt.Sprintf("%+v", p.Losses()),
		model.ExpiryLearnt(p), model.Obeyed(p), model.Returned(p), model.Learning(p), p.Waiting())
	if p.Sieve != nil {
		n.f.Add(name+" sieve", fmt.Sprintf("%+v", p.Sieve.Sifted()))
	}
	n.f.Add(name+" recency", fmt.Sprintf("%+v", p.Recency.Kept()))
	if w := model.Watch(p); w != nil {
		n.f.JSON(n.t, name+" watch", w.Figures())
		n.f.JSON(n.t, name+" alarms", w.Found(0))
	}
}

package committed

import (
	"fmt"

	"liftstream/stream/state"
)

// Reaction is the configured answer to a mismatch of topics and state.
type Reaction bool

const (
	Fail    Reaction = false // stop with an error that gives advice
	Rebuild Reaction = true  // begin with an empty state from the first messages that are left, and count it
)

// OffsetReaction is the configured answer to a group offset that another program has set.
type OffsetReaction uint8

const (
	OffsetFail    OffsetReaction = iota // stop with an error that gives advice
	OffsetSkip                          // the later offset counts, of state and group: nothing is scored twice
	OffsetRescore                       // the earlier one counts: nothing is left out, and some may be scored again
)

// String returns the value in the configuration.
func (r OffsetReaction) String() string { return [...]string{"fail", "skip", "rescore"}[r] }

// Policies are the reactions that the configuration gives.
type Policies struct {
	InputLost, TopicRecreated, SchemaChanged, ModelLost Reaction
	OffsetMoved                                         OffsetReaction
	// TopicShared lets the stage begin where another one has written scores into its topic, or models.
	TopicShared bool
}

// Cause is a reason to give a state up.
type Cause uint8

const (
	None Cause = iota
	Damaged
	TopicRecreated
	InputLost
	SchemaChanged
	OffsetMoved
	ModelLost
	TopicShared
)

var causes = [...]string{"", "damaged", "topic_recreated", "input_lost", "schema_changed", "offset_moved", "model_lost",
	"topic_shared"}

// String returns the label of the metrics; that of all but Damaged is the policy's key in the configuration.
func (c Cause) String() string { return causes[c] }

// Origin is the kind of state with which a task begins.
type Origin uint8

const (
	Nothing   Origin = iota // an empty state at the first offsets
	Kept                    // the state that this member left
	Snapshot                // a snapshot, then the journal after it
	CarryOver               // a snapshot of another schema, moved to this one
	Journal                 // an empty state, then the journal from its first record
)

// Problem is a policy that applies, in words.
type Problem struct {
	Cause Cause
	Text  string
}

// Plan says how to come to the committed state.
type Plan struct {
	Stop  *Problem           // not nil: the stage must end, nothing else is to be done
	Newer *state.FormatError // not nil: the stage must end, for a newer build has written the state
	// Foreign is not "" where the stage must end, for the state is another stage's; it says so in words.
	Foreign string

	Origin   Origin
	Cause    Cause           // of Nothing: why a former state is given up
	Snapshot *state.Manifest // of Snapshot and CarryOver
	// Last and Before are the two snapshots that the next one follows; nil = none.
	Last, Before *state.Manifest

	First  state.Position // the first messages that are left
	Target state.Position // up to where events and labels are replayed; Events below 0 = nothing is committed
	// Passed is the offset up to which labels are learnt though no journal record leads there: another program has
	// passed over them. 0 = none.
	Passed int64

	// Claimed: the last transaction says where the partition stands, and Done is that transaction. Otherwise a new line
	// of transactions begins, and of Done only the number counts.
	Claimed  bool
	Done     state.Done
	Numbered bool  // the group's offsets carry the number of a transaction
	Missing  int64 // events below Target and from this one on have no scores; Nowhere = all have
	Answered int64 // one past the last event that has scores
	// Unscored is a range of messages behind the last scores that no snapshot reaches back to. Events among them stay
	// without scores.
	Unscored struct{ From, To int64 }

	// ScoresAnew: the topic of scores is not the one of the last transaction, and holds none of its scores.
	ScoresAnew bool
	Moved      Moved // offsets that another program has set, and that a policy has accepted

	Lost     []Cause   // policies that have moved the target: messages were lost
	Problems []Problem // policies that give a state up, for the log
	Behind   bool      // the group's offsets are not those of the last transaction
}

// Label is the label of restores_total.
func (p *Plan) Label() string {
	switch p.Origin {
	case Kept:
		return "kept"
	case Snapshot:
		return "snapshot"
	case CarryOver:
		return "carried"
	case Journal:
		return "replay"
	}
	switch {
	case p.Cause != None:
		return p.Cause.String()
	case p.Target.Events > 0:
		return "replay"
	}
	return "empty"
}

// Decide says how to come to the committed state. It is a pure function.
func Decide(f *Facts, policies Policies) Plan {
	p := Plan{Missing: Nowhere}
	if f.kept() {
		p.Origin = Kept
		return p
	}
	p.Newer, p.Foreign = f.Newer, f.foreign()
	if p.Newer != nil || p.Foreign != "" {
		return p
	}
	if other := f.ScoresOf; other != "" && other != f.Stage.Stage && !policies.TopicShared {
		p.Stop = &Problem{TopicShared, fmt.Sprintf("the stage %s has written the newest scores of the topic %s, and this is "+
			"the stage %s", other, f.Stage.Scores, f.Stage.Stage)}
		return p
	}
	committed, cause, problem := p.committed(f, policies)
	if p.Stop != nil {
		return p
	}
	p.Behind = problem == "" && f.Group.numbered() && !f.Group.agrees(f.Done)
	p.First = state.Position{Events: f.Events.First, Labels: f.Labels.First}
	p.Target.Events = p.within(committed.Events, f.Events, policies)
	if f.Group.HasLabels && p.Stop == nil {
		p.Target.Labels = p.within(committed.Labels, f.Labels, policies)
	}
	if p.Stop != nil {
		return p
	}
	p.lastTransaction(f, problem == "")
	if problem == "" {
		cause, problem = TopicRecreated, f.contradiction(&p)
	}
	switch {
	case cause == OffsetMoved: // the policy has said so
		p.Cause, p.Problems = cause, append(p.Problems, Problem{cause, problem})
		return p
	case problem != "":
		p.giveUp(cause, problem, policies.TopicRecreated)
		return p
	}
	p.reachable(f)
	if f.ModelLost != "" {
		p.giveUp(ModelLost, f.ModelLost, policies.ModelLost)
		return p
	}
	p.choose(f, policies)
	return p
}

// foreign says in words that another stage owns the state, "" where none does.
func (f *Facts) foreign() string {
	own, other := &f.Stage, &f.Owner
	if other.Stage == "" || other.Stage == own.Stage {
		return ""
	}
	return fmt.Sprintf("the topic %s holds the state of the stage %s, which reads %s, and this is the stage %s, which "+
		"reads %s: give each stage a topic of its own (topics.state), or delete this one to begin anew",
		own.State, other.Stage, inputs(other), own.Stage, inputs(own))
}

// otherInput says in words that the state is of other topics, "" where it is not. A topic of labels may come later, and
// go.
func (f *Facts) otherInput() string {
	own, other := &f.Stage, &f.Owner
	if other.Stage == "" || other.Events == own.Events &&
		(other.Labels == own.Labels || other.Labels == "" || own.Labels == "") {
		return ""
	}
	return fmt.Sprintf("the state in %s is that of a stage %s which reads %s, and this one reads %s: two stages need two "+
		"names, with a topic of state each", own.State, other.Stage, inputs(other), inputs(own))
}

func inputs(o *state.Owner) string {
	if o.Labels == "" {
		return o.Events
	}
	return o.Events + " and " + o.Labels
}

// committed decides which next offsets are committed. problem is not "" where the state must be given up for it; cause
// then is OffsetMoved where the policy has accepted that, and TopicRecreated where the policy is still to be asked.
func (p *Plan) committed(f *Facts, policies Policies) (at state.Position, cause Cause, problem string) {
	at, moved := f.Group.Offsets(f.Done)
	raw := state.Position{Events: f.Group.Events.Offset, Labels: f.Group.Labels.Offset}
	if problem = f.otherInput(); problem == "" {
		problem = f.forgotten()
	}
	if problem != "" {
		return raw, TopicRecreated, problem
	}
	if f.wentOn(&moved) || !moved.Any() {
		return at, None, ""
	}
	switch policies.OffsetMoved {
	case OffsetFail:
		p.Stop = &Problem{OffsetMoved, moved.String()}
		return at, None, ""
	case OffsetSkip:
		p.Moved = moved
		return at, None, ""
	}
	p.Moved = moved
	for _, x := range []struct {
		Move
		at *int64
	}{{moved.Events, &at.Events}, {moved.Labels, &at.Labels}} {
		if x.Move != (Move{}) {
			*x.at = min(x.Own, x.Group)
		}
	}
	if moved.Events.Back() || moved.Labels.Back() {
		return at, OffsetMoved, moved.String()
	}
	return at, None, ""
}

// forgotten says in words that the group has no offset of a topic that the state has read, and that nothing tells
// whether that topic is still the same one: brokers forget the offsets of a topic that is deleted, too.
func (f *Facts) forgotten() string {
	d := &f.Done
	for _, x := range []struct {
		topic string
		own   int64
		group int64
		Likeness
	}{{"events", d.Events, f.Group.Events.Offset, f.Events.Likeness},
		{"labels", d.Labels, f.Group.Labels.Offset, f.Labels.Likeness}} {
		has := x.topic == "events" || f.Group.HasLabels
		// The first transaction answers nothing: a broker that has forgotten it does no harm.
		if has && d.Number > 1 && x.own > 0 && x.group < 0 && x.Likeness == Untold {
			return fmt.Sprintf("the group has no offset of %s, but the state says that all below %d are done: "+
				"offsets were deleted or expired, or the topic was made anew", x.topic, x.own)
		}
	}
	return ""
}

// wentOn reports whether a build that writes no done record has moved the group's offsets: it has written states beyond
// the done record, or scores of all events below the group's offset.
func (f *Facts) wentOn(m *Moved) bool {
	if m.Events.Back() || m.Labels.Back() || !m.Any() {
		return false
	}
	for _, s := range f.Manifests {
		if s.Events > f.Done.Events || s.Labels > f.Done.Labels {
			return true
		}
	}
	return m.Events.Ahead() && f.Scores.Known && f.Scores.Next == m.Events.Group
}

// giveUp begins with an empty state, or stops.
func (p *Plan) giveUp(c Cause, problem string, r Reaction) {
	if r == Fail {
		p.Stop = &Problem{c, problem}
		return
	}
	p.Problems = append(p.Problems, Problem{c, problem})
	p.Cause = c
}

// within compares a committed offset with the offsets that a topic holds, and applies the policies where they do not
// fit. The position of a read-committed reader can lie past the last stable record by markers, and no further.
func (p *Plan) within(committed int64, b Bounds, policies Policies) int64 {
	switch {
	case committed > b.High:
		if policies.TopicRecreated == Fail {
			p.Stop = &Problem{TopicRecreated, fmt.Sprintf("the committed offset %d lies beyond the end of %s, %d: "+
				"the topic was made anew", committed, b.Topic, b.High)}
			return -1
		}
		p.Lost = append(p.Lost, TopicRecreated)
		return -1
	case b.Likeness == Other && committed > 0:
		if policies.TopicRecreated == Fail {
			p.Stop = &Problem{TopicRecreated, fmt.Sprintf("the messages of %s below the committed offset %d are not the "+
				"ones of the state: the topic was made anew", b.Topic, committed)}
			return -1
		}
		p.Lost = append(p.Lost, TopicRecreated)
		return -1
	case committed >= 0 && committed < b.First:
		if policies.InputLost == Fail {
			p.Stop = &Problem{InputLost, fmt.Sprintf("records %d to %d of %s were deleted before they were read",
				committed, b.First, b.Topic)}
			return -1
		}
		p.Lost = append(p.Lost, InputLost)
		return b.First
	}
	return committed
}

// lastTransaction takes over the last transaction, where the committed offsets are its own, and finds the scores that
// it lacks.
func (p *Plan) lastTransaction(f *Facts, undisturbed bool) {
	d := f.Done
	if d.Number > 0 && undisturbed && p.Target.Labels > d.Labels {
		p.Passed, p.Target.Labels = p.Target.Labels, d.Labels
	}
	p.Numbered = f.Group.numbered()
	if p.Claimed = d.Number > 0 && undisturbed && p.Target.Events == d.Events; p.Claimed {
		p.Done, p.ScoresAnew = d, f.Scores.Anew
		p.Target.Events, p.Missing, p.Answered = Answered(d, f.Scores)
	}
	p.Done.Number = max(d.Number, f.Group.Number())
}

// contradiction returns in words how the state topic and the group contradict each other, "" where they do not.
func (f *Facts) contradiction(p *Plan) string {
	switch {
	case len(f.Manifests)+len(f.Unread) > 0:
	case f.Journal > 0 && p.Target.Events < 0:
		return "the group has no offset, but there is a journal of what it committed: offsets were deleted or expired"
	case f.Empty && f.Group.Number() > 1 && p.Target.Events > p.First.Events:
		return fmt.Sprintf("the group's offset is %d, but the state topic holds nothing of what was committed up to there: "+
			"it was deleted or made anew", p.Target.Events)
	}
	return ""
}

// reachable gives up scores that no snapshot lies before. Mostly messages that are no events follow the last scores
// there; if not, more is missing than the death of a broker explains.
func (p *Plan) reachable(f *Facts) {
	n := len(f.Manifests)
	if n > 0 && p.Missing < f.Manifests[n-1].Events && p.Missing < p.Done.EventsFrom {
		p.Unscored.From, p.Unscored.To = p.Missing, p.Done.EventsFrom
		p.Missing = p.Done.EventsFrom
	}
}

// choose finds the state to begin with.
func (p *Plan) choose(f *Facts, policies Policies) {
	cause := p.snapshot(f, policies)
	if p.Stop != nil || p.Origin != Nothing {
		return
	}
	if cause == None && p.Target.Events >= 0 && f.Journal > 0 {
		// The state ended before its first snapshot was complete, or none lies before the missing scores: the journal tells
		// everything since the beginning.
		if !f.JournalRefused {
			p.Origin = Journal
			p.follow(f.Manifests)
			return
		}
		cause = Damaged
	}
	switch {
	case cause != Damaged:
	case f.Bootstrap.Number > 0:
		p.giveUp(InputLost, fmt.Sprintf("no snapshot of the state can be read, and no topic has the %d records of files "+
			"that it has learnt ('liftstream bootstrap' learns them again)", f.Bootstrap.Records), policies.InputLost)
	case p.First.Events > 0:
		// The events before the first one that is left cannot be learnt again.
		p.giveUp(InputLost, fmt.Sprintf("no snapshot of the state can be read, "+
			"and events before offset %d are no longer in the topic", p.First.Events), policies.InputLost)
	}
	p.Cause = cause
}

// snapshot chooses the newest snapshot that serves. Where none does, it returns why the state must be given up, None
// where the journal may still tell all of it.
func (p *Plan) snapshot(f *Facts, policies Policies) (cause Cause) {
	if len(f.Manifests)+len(f.Unread) > 0 {
		cause = Damaged
	}
	for i, m := range f.Manifests {
		if m.Events > p.Missing { // the missing scores must be ahead of it
			cause = None
			continue
		}
		if problem, reaction := f.misfit(m, p, policies); problem.Cause != None {
			p.giveUp(problem.Cause, problem.Text, reaction)
			return problem.Cause
		}
		if m.Fingerprint != f.Fingerprint {
			if f.NotCarried {
				return SchemaChanged
			}
			p.Origin, p.Snapshot = CarryOver, m
			p.follow(f.Manifests[i:])
			if p.Missing != Nowhere {
				p.follow(f.Manifests)
			}
			return None
		}
		if f.Manifests[0].Fingerprint != m.Fingerprint {
			return cause // between the two the schema changed: the journal goes through both
		}
		if f.Refused[m.Number] {
			continue
		}
		p.Origin, p.Snapshot = Snapshot, m
		if p.Missing != Nowhere {
			p.follow(f.Manifests)
		} else {
			p.Last = m
			if i == 0 && len(f.Manifests) > 1 {
				p.Before = f.Manifests[1]
			}
		}
		return None
	}
	return cause
}

// follow lets the next snapshot follow the found ones.
func (p *Plan) follow(found []*state.Manifest) {
	if len(found) == 0 || found[0].Number >= state.MaxNumber {
		return
	}
	p.Last = found[0]
	if len(found) > 1 {
		p.Before = found[1]
	}
}

// misfit compares a snapshot with the configuration and with the offsets. The cause is None where it fits; otherwise it
// comes with the configured reaction.
func (f *Facts) misfit(m *state.Manifest, p *Plan, policies Policies) (Problem, Reaction) {
	labels := f.Group.HasLabels
	switch {
	case m.Fingerprint != f.Fingerprint && (policies.SchemaChanged == Fail || !f.Carries):
		return Problem{SchemaChanged, "the state was made under another configuration"}, policies.SchemaChanged
	case m.Events > p.Target.Events: // a snapshot never exists without a committed offset
		return behind("", p.Target.Events, m.Events), policies.TopicRecreated
	case labels && m.Labels > max(p.Target.Labels, 0):
		return behind(" of labels", p.Target.Labels, m.Labels), policies.TopicRecreated
	case p.First.Events > m.Events && p.Target.Events > m.Events:
		return Problem{InputLost, fmt.Sprintf("events %d to %d, which the state needs, are no longer in the topic",
			m.Events, p.First.Events)}, policies.InputLost
	case labels && p.First.Labels > m.Labels && p.Target.Labels > m.Labels:
		return Problem{InputLost, fmt.Sprintf("labels %d to %d, which the state needs, are no longer in the topic",
			m.Labels, p.First.Labels)}, policies.InputLost
	}
	return Problem{}, Fail
}

// behind is the problem that the group's offset lies before that of a snapshot.
func behind(topic string, group, own int64) Problem {
	return Problem{TopicRecreated, fmt.Sprintf("the group's offset%s (%d, -1 = none) lies before that of the state, %d: "+
		"topics were made anew, offsets reset or expired", topic, group, own)}
}

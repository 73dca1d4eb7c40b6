package audience

import (
	"fmt"
	"math"
	"strings"

	"liftstream/model/evaluate"
	"liftstream/model/report"
	"liftstream/model/report/text"
)

// Report is the summary of an audience for programs; figures of nobody are null.
type Report struct {
	By           string          `json:"by"`
	Scores       int64           `json:"scores"`
	IDs          int             `json:"ids"`
	WithoutID    int             `json:"without_id"`
	Unread       int             `json:"unread"` // messages
	Control      int             `json:"control"`
	Unknown      int             `json:"unknown"`
	Choice       int             `json:"choice"`
	N            int             `json:"n"`
	Untrained    int             `json:"untrained"`
	Tied         int             `json:"tied"`
	Last         report.Number   `json:"last_propensity"`
	Hits         report.Number   `json:"expected_hits"`
	Rate         report.Number   `json:"expected_rate"`
	Average      report.Number   `json:"average_rate"`
	ExpectedLift report.Number   `json:"expected_lift"`
	Value        *evaluate.Value `json:"value,omitempty"`
	// ExpectedProfit is there with Value.
	ExpectedProfit *report.Number `json:"expected_profit,omitempty"`
}

// Report gathers the summary.
func (a *Audience) Report(v *evaluate.Value) *Report {
	s := &a.Summary
	r := &Report{By: a.Class, Scores: s.Scores, IDs: s.IDs, WithoutID: a.NoID, Unread: a.Unread, Control: s.Control,
		Unknown: s.Unknown, Choice: s.Choice, N: s.N, Untrained: s.Untrained, Tied: s.Tied, Last: report.Number(s.Last),
		Hits: report.Number(s.Hits), Rate: report.Number(s.Rate), Average: report.Number(s.Average),
		ExpectedLift: report.Number(s.Lift), Value: v}
	if v != nil {
		profit := report.Number(s.Profit(*v))
		r.ExpectedProfit = &profit
	}
	return r
}

// Lines are the summary for people.
func (a *Audience) Lines(v *evaluate.Value) (lines []string) {
	s := &a.Summary
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	noun := "score"
	if a.IDs {
		noun = "id"
	} else if a.Records {
		noun = "record"
	}
	share := ""
	if s.Choice > 0 {
		share = " (" + text.Percent(float64(s.N)/float64(s.Choice)) + ")"
	}
	say("audience of %s: %d of %s%s, from %s", a.Class, s.N, text.Count(s.Choice, noun), share,
		text.Count(int(s.Scores), "score"))
	if s.N > 0 {
		line := fmt.Sprintf("expected: %s hits, %s of them, %s times the average of %s", text.Decimals(s.Hits, 1),
			text.Percent(s.Rate), text.Decimals(s.Lift, 2), text.Percent(s.Average))
		if v != nil {
			line += fmt.Sprintf("; profit %s at %s a hit and %s a contact", text.Decimals(s.Profit(*v), 2), number(v.Hit),
				number(v.Contact))
		}
		say("%s", line)
		say("lowest propensity: %s%s", text.Decimals(s.Last, 4), tied(s.Tied, noun))
	}
	if s.Control > 0 {
		say("%s in the control share left out; --with-control takes them in", text.Count(s.Control, noun))
	}
	if s.Untrained > 0 {
		say("%s left out that no model has scored yet: their propensities are base rates; --with-untrained takes them in",
			text.Count(s.Untrained, noun))
	}
	if s.Unknown > 0 {
		say("%s without a propensity of %s left out", text.Count(s.Unknown, noun), a.Class)
	}
	if a.NoID > 0 {
		say("%s without an id left out", text.Count(a.NoID, "score"))
	}
	if a.Unread > 0 {
		say("%s left out that cannot be read", text.Count(a.Unread, "message"))
	}
	if a.Untimed > 0 {
		say("%s: the time cannot be read, so they count as the oldest of their id; record.time.unit of a configuration "+
			"(-c) tells the unit", text.Count(a.Untimed, "score"))
	}
	return lines
}

func tied(n int, noun string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %s left out with the same one, drawn by hash", text.Count(n, noun))
}

// number writes an amount without needless digits.
func number(v float64) string {
	if math.Abs(v) >= 1e15 {
		return fmt.Sprint(v)
	}
	t := fmt.Sprintf("%.4f", v)
	return strings.TrimRight(strings.TrimRight(t, "0"), ".")
}

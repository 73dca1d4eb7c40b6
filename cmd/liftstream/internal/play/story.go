package play

import (
	"fmt"
	"math"
	"strings"
	"time"

	"liftstream/cmd/liftstream/internal/page"
	"liftstream/model/evaluate"
)

// story is how far it is, in a few lines.
func (s *run) story() []string {
	v := s.live.Source.Live()
	lines := []string{fmt.Sprintf("scored %s of %s", page.Count(int64(v.Scored)), page.Count(int64(s.set.Records)))}
	if rate := s.pace.rate(time.Now(), v.Scored); rate > 0 {
		lines[0] += fmt.Sprintf(" (%s a second)", page.Count(int64(rate)))
	}
	switch {
	case !v.Ready && v.Scored == 0 && len(v.Waiting) > 0:
		lines[0] += ": " + strings.Join(v.Waiting, "; ")
	case v.Quality.Records > 0:
		lines = append(lines, s.quality(&v))
	}
	switch {
	case v.Profiles.Confirmed() > 0:
		lines = append(lines, "strongest: "+s.profile(v.Profiles.Best[0]))
	case len(v.Profiles.Best) > 0:
		lines = append(lines, "strongest: no profile is confirmed yet on records held back from the search")
	}
	if len(v.Calls) > 0 {
		lines = append(lines, "first to call: "+s.call(v.Calls[0]))
	}
	return lines
}

// pace measures records a second between two looks.
type pace struct {
	when   time.Time
	scored uint64
	last   float64
}

func (p *pace) rate(now time.Time, scored uint64) float64 {
	const least = 200 * time.Millisecond // a shorter time says too little
	if d := now.Sub(p.when); d >= least {
		if p.last = 0; !p.when.IsZero() {
			p.last = float64(scored-p.scored) / d.Seconds()
		}
		p.when, p.scored = now, scored
	}
	return p.last
}

func (s *run) quality(v *page.Live) string {
	q := v.Quality
	if v.Positive == "" {
		return fmt.Sprintf("of two %ss of different classes it tells which is which %s of the time", s.set.Who,
			page.Percent(q.AUC))
	}
	text := fmt.Sprintf("of a “%s” and another %s it ranks the “%s” higher %s of the time", v.Positive, s.set.Who,
		v.Positive, page.Percent(q.AUC))
	if !math.IsNaN(float64(q.Capture)) {
		text += fmt.Sprintf(", the best tenth holds %s of all “%s”", page.Percent(q.Capture), v.Positive)
	}
	return text
}

// profile writes a profile: "job=student: 2.4 times as often “yes” as on average on records held back (95 %: 2.1 to
// 2.8)".
func (s *run) profile(p page.Profile) string {
	if math.IsNaN(float64(p.Validated)) {
		return fmt.Sprintf("%s: %s as often “%s” as on average where it was found, not among records held back", p.Text,
			page.Times(p.Lift), p.Class)
	}
	text := fmt.Sprintf("%s: %s as often “%s” as on average on records held back (95 %%: %s to %s)", p.Text,
		page.Times(p.Validated), p.Class, page.Lift(p.ValidatedLow), page.Lift(p.ValidatedHigh))
	if !p.Confirmed {
		text += ", not confirmed"
	}
	return text
}

// call writes a record of the call list.
func (s *run) call(r page.Record) string {
	var because []string
	for _, w := range r.Why {
		if w.Effect > 0 && len(because) < 3 {
			because = append(because, w.String())
		}
	}
	text := fmt.Sprintf("%s %s, %s “%s”, %s the average", s.set.Who, r.Who, page.Percent(evaluate.Number(r.Propensity)),
		r.Target, page.Times(evaluate.Number(r.Lift)))
	if len(because) > 0 {
		text += ": " + strings.Join(because, ", ")
	}
	return text
}

package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"liftstream/model/evaluate"
	"liftstream/model/groups"
	"liftstream/model/report"
	"liftstream/stream"
	"liftstream/stream/state"
)

// Profile is a combination of values and how much more often than on average the class is among its records.
type Profile struct {
	Class string `json:"class"`
	Text  string `json:"profile"` // such as "contact=cellular & poutcome=success"
	// Confirmed says that records held back from the search bear the profile out: its q-value is at most .05.
	Confirmed bool `json:"confirmed"`
	// Lift is that on all records, those included among which the profile was found, so that chance is part of it.
	Lift evaluate.Number `json:"lift"`
	// Validated is the lift on records that took no part in finding the profile, NaN when there were too few; its interval
	// holds at 95 % for all profiles of the model at once.
	Validated     evaluate.Number `json:"validated_lift"`
	ValidatedLow  evaluate.Number `json:"validated_low"`
	ValidatedHigh evaluate.Number `json:"validated_high"`
	Records       float64         `json:"n_x"`
	Positives     float64         `json:"n_xy"`
}

// Profiles are the strongest profiles of a model.
type Profiles struct {
	Model int64     `json:"model"` // 0 = none published yet
	Best  []Profile `json:"best"`  // confirmed ones first
	// Features is the short list of the kernel, heaviest first: those by which records of a class are alike.
	Features []string `json:"features"`
}

// Confirmed is the number of profiles that records held back bear out.
func (p Profiles) Confirmed() (n int) {
	for _, x := range p.Best {
		if x.Confirmed {
			n++
		}
	}
	return n
}

// IntervalNote explains the interval of a confirmed profile that begins below 1, "" where none does.
func (p Profiles) IntervalNote() string {
	if slices.ContainsFunc(p.Best, func(x Profile) bool { return x.Confirmed && x.ValidatedLow < 1 }) {
		return report.IntervalNote
	}
	return ""
}

// Place is where something is that the page is about, such as a topic or a file.
type Place struct {
	What string `json:"what"`
	Name string `json:"name"`
}

// Source supplies the page. All functions must be quick and may be called at the same time.
type Source struct {
	Name     string
	Positive string   // class that marketers ask for; "" when none is configured
	Notes    []string // on the data, for readers
	Places   []Place
	Board    *Board
	Status   func() stream.Status
	Profiles func() Profiles
	Model    func() ([]byte, error)      // a page on the serving model; nil = there is none
	Curves   func() []report.Curve       // of the serving model; nil = it has none
	Flow     func() Flow                 // nil = unknown
	Verdicts func() []*state.GateVerdict // oldest first; nil = unknown
}

// Gate is a comparison of a new model with the serving one, on labelled records that neither had learnt.
type Gate struct {
	Model          int64           `json:"model"`  // that it was published as; 0 = it was refused
	Reason         string          `json:"reason"` // as model.VerdictReason.String has it
	Records        int             `json:"records"`
	LogLoss        evaluate.Number `json:"log_loss"`
	Serving        evaluate.Number `json:"log_loss_serving"`
	Difference     evaluate.Number `json:"log_loss_difference"`
	DifferenceLow  evaluate.Number `json:"log_loss_difference_low"`
	DifferenceHigh evaluate.Number `json:"log_loss_difference_high"`
	Allowed        evaluate.Number `json:"gate"`
	Note           string          `json:"note,omitempty"` // why labels look inverted, or a fit failed
	Time           time.Time       `json:"time,omitzero"`
}

// Text says it for people.
func (g *Gate) Text() string {
	said := "published as model " + strconv.FormatInt(g.Model, 10)
	if g.Model == 0 {
		said = "refused"
	}
	if g.Note != "" {
		return said + ": " + g.Note
	}
	if math.IsNaN(float64(g.LogLoss)) {
		return said + ": nothing to compare it with"
	}
	text := fmt.Sprintf("%s: log-loss %.4f, the serving one %.4f", said, float64(g.LogLoss), float64(g.Serving))
	if !math.IsNaN(float64(g.DifferenceLow)) {
		text += fmt.Sprintf(" (difference %+.4f, 95 %% %+.4f to %+.4f)", float64(g.Difference), float64(g.DifferenceLow),
			float64(g.DifferenceHigh))
	}
	return text + fmt.Sprintf(", on %s records that neither had learnt", Count(int64(g.Records)))
}

func gateOf(v *state.GateVerdict) *Gate {
	if v == nil {
		return nil
	}
	n := func(x float64) evaluate.Number { return evaluate.Number(x) }
	return &Gate{Model: v.Version, Reason: v.Reason.String(), Records: v.Records, LogLoss: n(v.New), Serving: n(v.Old),
		Note: v.Note, Time: v.Time.UTC(),
		Difference:    n(v.Difference()),
		DifferenceLow: n(v.Low), DifferenceHigh: n(v.High), Allowed: n(v.Gate)}
}

// Live is the answer of /api/live.
type Live struct {
	Name     string   `json:"name"`
	Positive string   `json:"positive,omitempty"`
	Ready    bool     `json:"ready"`
	Waiting  []string `json:"waiting"` // reasons to wait; empty when ready
	Unusual  []string `json:"unusual"` // settings of topics; may be empty
	Behind   int64    `json:"behind"`  // messages not yet read
	Dead     uint64   `json:"dead"`    // dead letters made by this process
	// UnknownClass and Expired are records that are not learnt: their label is no class, or did not come in time.
	UnknownClass uint64 `json:"unknown_class"`
	Expired      uint64 `json:"expired"`
	Fits         uint64 `json:"fits"`
	Refused      uint64 `json:"fits_refused"`
	// Gate is the last verdict on a new model, by any process of the group; nil = none yet.
	Gate *Gate `json:"gate"`
	// Verdicts are the last ones, newest first.
	Verdicts []Gate `json:"verdicts"`
	// Partitions are those of this process, PartitionsOf their number where not all are listed, else 0.
	Partitions   []Partition `json:"partitions"`
	PartitionsOf int         `json:"partitions_of,omitempty"`
	Flow         Flow        `json:"flow"`
	// Remembered is nil where no feature is derived from former records of an id.
	Remembered *Remembered `json:"remembered,omitempty"`
	// Drift is nil where nothing is watched.
	Drift    *Drift   `json:"drift,omitempty"`
	Profiles Profiles `json:"profiles"`
	// Groups is nil where there are none: no feature of use: report, and no segment.
	Groups *groups.View `json:"groups,omitempty"`
	// Goals are those beside the label, nil where there are none.
	Goals []GoalView `json:"goals,omitempty"`
	View
}

// Live is the content of the page at this moment.
func (s *Source) Live() Live {
	st := s.Status()
	l := Live{Name: s.Name, Positive: s.Positive, Ready: st.Ready, Waiting: st.Waiting, Fits: st.Fits, Refused: st.Refused,
		Unusual: st.Unusual, Gate: gateOf(st.Verdict), Verdicts: []Gate{}, Drift: driftOf(st.Partitions),
		Profiles: s.Profiles(), Groups: s.Board.Groups.View(), Goals: s.Board.Goals.View(), View: s.Board.View()}
	l.Remembered = rememberedOf(st.Partitions)
	if s.Flow != nil {
		l.Flow = s.Flow()
	}
	if l.Flow.Dead == nil {
		l.Flow.Dead = []Counted{}
	}
	if s.Verdicts != nil {
		l.Verdicts = verdictsOf(s.Verdicts())
	}
	if l.Partitions, l.PartitionsOf = partitionsOf(st.Partitions, l.Flow.Waiting); l.PartitionsOf == len(l.Partitions) {
		l.PartitionsOf = 0
	}
	if l.Waiting == nil {
		l.Waiting = []string{}
	}
	if l.Unusual == nil {
		l.Unusual = []string{}
	}
	if l.Profiles.Best == nil {
		l.Profiles.Best = []Profile{}
	}
	if l.Profiles.Features == nil {
		l.Profiles.Features = []string{}
	}
	for _, p := range st.Partitions {
		l.Behind += max(p.End-p.Offset, 0)
		l.Dead += p.Dead
		l.UnknownClass += p.UnknownClass
		l.Expired += p.Expired
	}
	return l
}

// policy lets the page use its own content and ask this server, nothing else.
var policy = fmt.Sprintf("default-src 'none'; style-src 'unsafe-inline'; script-src '%s'; connect-src 'self'; "+
	"img-src data:; "+
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'", digest(script))

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Register adds the page at "/", its data at "/api/live", a record at "/api/record?id=ID",
// the stream of its changes at "/api/events", and a page on the serving model at "/model" to a mux. The
// returned function ends the streams, for a server that stops.
func Register(mux *http.ServeMux, s *Source) (end func()) {
	f := newFeed(s)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		b, err := f.page(r.URL.Query())
		if err != nil {
			http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
			return
		}
		secure(w, "text/html; charset=utf-8")
		_, _ = w.Write(b)
	})
	mux.HandleFunc("GET /api/events", f.events)
	mux.HandleFunc("GET /api/record", s.answer)
	mux.HandleFunc("GET /model", s.model)
	mux.HandleFunc("GET /api/live", func(w http.ResponseWriter, _ *http.Request) {
		b, err := json.Marshal(s.Live())
		if err != nil {
			http.Error(w, "the figures cannot be written", http.StatusInternalServerError)
			return
		}
		secure(w, "application/json")
		_, _ = w.Write(append(b, '\n'))
	})
	return f.end
}

func secure(w http.ResponseWriter, content string) {
	h := w.Header()
	h.Set("Content-Type", content)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
}

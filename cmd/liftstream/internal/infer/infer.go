// Package infer answers requests for scores at once, by the state of the running stage: plain JSON at /v1/score, and
// tensors by the open inference protocol (KServe V2, https://kserve.github.io/website/docs/concepts/architecture/
// data-plane/v2-protocol) below /v2. SCORE.md beside it is the contract.
//
// Begin at New and Service.Register.
package infer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"liftstream/codec"
	"liftstream/config"
	"liftstream/model"
	"liftstream/stream"
)

// Stage is the running stage, as far as requests need it.
type Stage struct {
	// Ask is stream.Ask, Partitions stream.Partitions of the stage.
	Ask func(ctx context.Context, partition int, b *model.Batch, use func(s *model.Scores, l *model.Levels)) error
	// Partitions returns the partitions that this process holds, and the number of all.
	Partitions func() (held []int, of int)
	Status     func() stream.Status
}

// Options of a Service.
type Options struct {
	Name    string // of the model: that of the stage
	Version string // of the build
	Codec   codec.Options
	// ByRecord says that the control share is drawn by positions, which no record of a request has.
	ByRecord bool
	Limits   config.Scoring
	Stage    Stage
	Now      func() time.Time
}

// Service answers requests. It is safe for concurrent use.
type Service struct {
	o       Options
	codec   codec.Options // of requests: without the columns that change no score
	part    codec.Options // of a part of a request, see partOf
	columns []codec.ColumnInfo
	quoted  map[string]string  // the names of columns and inputs, as keys of JSON
	known   map[string]*string // names and datatypes of usual requests
	desks   sync.Pool          // of *desk
	slots   chan struct{}
	rate    *rate.Limiter // nil = no bound
	records prometheus.Counter
	seconds *prometheus.HistogramVec
}

// New returns a Service. It fails where the codec's options contradict each other.
func New(o Options) (*Service, error) {
	s := &Service{o: o, codec: o.Codec, slots: make(chan struct{}, o.Limits.Requests),
		quoted: map[string]string{}, known: map[string]*string{}}
	c := &s.codec
	c.Label, c.Weight, c.Treated = "", "", ""
	c.Budget, c.Dedup = nil, false
	c.Features = codec.FeaturesNone
	s.part = partOf(*c)
	if r := o.Limits.Rate; r > 0 {
		s.rate = rate.NewLimiter(rate.Limit(r), max(r, o.Limits.Rows))
	}
	e, err := codec.NewScoreEncoder(*c)
	if err != nil {
		return nil, fmt.Errorf("answering requests: %w", err)
	}
	var none model.Scores
	none.Reset(0, len(c.Schema.Classes))
	t, err := e.Table(&model.Batch{}, &none, model.NewLevels(c.Schema), nil)
	if err != nil {
		return nil, fmt.Errorf("answering requests: %w", err)
	}
	for _, x := range t.Columns() {
		if s.tells(x.Name, true) {
			s.columns = append(s.columns, x)
		}
		s.quoted[x.Name] = quoted(x.Name)
	}
	know(s)
	s.records = prometheus.NewCounter(prometheus.CounterOpts{Namespace: "liftstream", Name: "requested_scores_total",
		Help: "Records that requests for scores were answered for; they are not in liftstream_records_total."})
	s.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "liftstream", Name: "request_seconds",
		Help:    "Time of requests for scores, from their headers to their answer, by status.",
		Buckets: prometheus.ExponentialBuckets(.0005, 2, 14)}, []string{"code"})
	return s, nil
}

// know notes the names that usual requests hold.
func know(s *Service) {
	names := slices.Collect(maps.Keys(s.quoted))
	for i := range s.codec.Schema.Features {
		names = append(names, s.codec.Schema.Features[i].Name)
	}
	for _, x := range s.codec.Sources() {
		names = append(names, x.Name)
	}
	for _, name := range append(names, s.codec.ID, s.codec.Time) {
		s.quoted[name] = quoted(name)
		s.known[name] = &name
	}
	for name := range datatypes {
		s.known[name] = &name
	}
}

// quotedName is the name of a column as a key of JSON.
func quotedName(s *Service, name string) string {
	if q, ok := s.quoted[name]; ok {
		return q
	}
	return quoted(name)
}

// Metrics are those of the service.
func (s *Service) Metrics() []prometheus.Collector {
	return []prometheus.Collector{s.records, s.seconds}
}

// tells reports whether an answer has a column of the scores. Positions are those of a topic, of which a request has no
// part; identified says that its records have ids.
func (s *Service) tells(column string, identified bool) bool {
	switch column {
	case codec.ColumnOffset, codec.ColumnRow:
		return false
	case codec.ScoreControl.String():
		return identified && !s.o.ByRecord
	}
	return true
}

// isReasons reports whether a column of the scores has reasons, which an answer has where it is asked for them.
func (s *Service) isReasons(column string) bool {
	return column == codec.ScoreWhy.String() || slices.ContainsFunc(s.codec.Goals, func(g codec.Goal) bool {
		return s.codec.GoalReasons && column == codec.GoalWhyColumn(g.Column)
	})
}

// Register adds the paths of the service to a mux. A browser's page of another site cannot send requests.
func (s *Service) Register(mux *http.ServeMux) {
	own := http.NewCrossOriginProtection()
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, wrong(http.StatusForbidden, "a page of another site asks"))
	}))
	post := func(path string, f func(r *http.Request, body []byte) ([]byte, error)) {
		mux.Handle("POST "+path, own.Handler(s.timed(f)))
	}
	post("/v1/score", s.plain)
	post("/v2/models/{model}/infer", s.infer)
	get := func(path string, f func(r *http.Request) (any, error)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			answer, err := f(r)
			b, broken := json.Marshal(answer)
			code := http.StatusOK
			if err = errors.Join(err, broken); err != nil {
				var f *fault
				if code = http.StatusInternalServerError; errors.As(err, &f) {
					code = f.code
				}
				if answer == nil {
					refuse(w, err)
					return
				}
			}
			send(w, code, b)
		})
	}
	get("/v2", s.server)
	get("/v2/health/live", func(*http.Request) (any, error) { return map[string]bool{"live": true}, nil })
	get("/v2/health/ready", s.ready)
	get("/v2/models/{model}", s.model)
	get("/v2/models/{model}/ready", s.modelReady)
	mux.HandleFunc("/v2/models/{model}/versions/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, wrong(http.StatusNotFound, "the version that serves answers, and no other: leave /versions/... out"))
	})
}

// timed reads the body of a request within the limits, answers it, and measures that.
func (s *Service) timed(f func(r *http.Request, body []byte) ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, code := s.o.Now(), http.StatusOK
		defer func() { s.seconds.WithLabelValues(strconv.Itoa(code)).Observe(s.o.Now().Sub(began).Seconds()) }()
		answer, err := s.bounded(w, r, f)
		if err != nil {
			code = refuse(w, err)
			return
		}
		send(w, code, answer)
	})
}

func (s *Service) bounded(
	w http.ResponseWriter, r *http.Request, f func(r *http.Request, body []byte) ([]byte, error),
) ([]byte, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return nil, &fault{code: http.StatusTooManyRequests, after: time.Second,
			text: fmt.Sprintf("%d requests are worked on: http.score.requests bounds them", s.o.Limits.Requests)}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.o.Limits.Body)))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, wrong(http.StatusRequestEntityTooLarge, "the request is larger than http.score.body, %v", s.o.Limits.Body)
	}
	if err != nil {
		return nil, wrong(http.StatusBadRequest, "the request ends early: %v", err)
	}
	return f(r, body)
}

// pay takes the records of a request out of the bound of http.score.rate.
func (s *Service) pay(rows int) error {
	if rows > s.o.Limits.Rows {
		return s.tooMany()
	}
	if s.rate == nil {
		return nil
	}
	now := s.o.Now()
	x := s.rate.ReserveN(now, rows)
	if wait := x.DelayFrom(now); wait > 0 {
		x.CancelAt(now)
		return &fault{code: http.StatusTooManyRequests, after: wait,
			text: fmt.Sprintf("more than %d records a second: http.score.rate bounds them", s.o.Limits.Rate)}
	}
	return nil
}

func (s *Service) tooMany() error {
	return wrong(http.StatusRequestEntityTooLarge, "the request has more records than http.score.rows allows, %d",
		s.o.Limits.Rows)
}

// fault is the refusal of a request. Its JSON is the body of the answer.
type fault struct {
	code      int
	text      string
	row       int    // the record at fault, from 1; 0 = none
	column    string // "" = none
	partition *int
	held      []int
	after     time.Duration // until the request may be sent again; 0 = it does not help
}

func wrong(code int, format string, args ...any) *fault {
	return &fault{code: code, text: fmt.Sprintf(format, args...)}
}

func (f *fault) Error() string { return f.text }

// MarshalJSON writes the text as "error", as the open inference protocol has it.
func (f *fault) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Error     string `json:"error"`
		Row       int    `json:"row,omitempty"`
		Column    string `json:"column,omitempty"`
		Partition *int   `json:"partition,omitempty"`
		Held      []int  `json:"held,omitempty"`
	}{f.text, f.row, f.column, f.partition, f.held})
}

// refuse answers with an error, and returns its status.
func refuse(w http.ResponseWriter, err error) int {
	var f *fault
	if !errors.As(err, &f) {
		f = wrong(http.StatusInternalServerError, "%v", err)
	}
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.after.Seconds()))))
	}
	b, err := json.Marshal(f)
	if err != nil {
		b = []byte(`{"error": "the error cannot be told"}`)
	}
	send(w, f.code, b)
	return f.code
}

func send(w http.ResponseWriter, code int, b []byte) {
	b = append(b, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(code)
	_, _ = w.Write(b)
}

package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	// streams bounds the open streams of changes. A page without one keeps its figures, and asks again.
	streams = 32
	// pace is the shortest time between two renderings. All pages share one.
	pace = time.Second
	// patience is the time that a page has to take its changes. A slower one is dropped, and connects anew.
	patience = 10 * time.Second
	// quiet is the longest silence of a stream: proxies close silent ones.
	quiet = 15 * time.Second
)

// feed renders the page, and tells open pages of its changes. Its work does not grow with the number of pages but for
// the comparison of parts: one rendering a pace at most, none while nobody looks.
type feed struct {
	source                *Source
	now                   func() time.Time
	ended                 chan struct{}
	end                   func()
	pace, patience, quiet time.Duration // see the constants

	mu    sync.Mutex // guards the rest
	open  int        // streams
	at    time.Time  // of parts
	parts []Part     // of the last rendering; they are not changed
	// scored at since: the records of the pace are counted from there.
	scored uint64
	since  time.Time
	pacing string
}

func newFeed(s *Source) *feed {
	f := &feed{source: s, now: time.Now, ended: make(chan struct{}), pace: pace, patience: patience, quiet: quiet}
	f.end = sync.OnceFunc(func() { close(f.ended) })
	return f
}

// current returns the parts, which are at most a pace old.
func (f *feed) current() ([]Part, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.parts != nil && now.Sub(f.at) < f.pace*9/10 {
		return f.parts, nil
	}
	m := &moment{Live: f.source.Live()}
	f.measure(now, m)
	p, err := render(m)
	if err != nil {
		return nil, err
	}
	f.parts, f.at = p, now
	return p, nil
}

// measure tells how many records a second were scored since the rendering before. A rendering of long ago says nothing
// of now.
func (f *feed) measure(now time.Time, m *moment) {
	d := now.Sub(f.since)
	switch {
	case f.since.IsZero() || d > 10*f.pace:
		f.pacing = ""
	case d < f.pace/2:
		m.Pace = f.pacing
		return
	default:
		rate := int64(math.Round(float64(m.Scored-min(f.scored, m.Scored)) / d.Seconds()))
		f.pacing = "waiting for more"
		if rate > 0 || m.Behind > 0 {
			f.pacing = Count(rate) + " a second"
		}
	}
	f.scored, f.since, m.Pace = m.Scored, now, f.pacing
}

// page is the whole page for a query.
func (f *feed) page(q url.Values) ([]byte, error) {
	p, err := f.current()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = pages.ExecuteTemplate(&b, "page", struct {
		Name            string
		Parts, Contents []Part
		Notes           []string
		Places          []Place
		Asked           question
		HasModel        bool
	}{f.source.Name, p, contents(p), f.source.Notes, f.source.Places, f.source.ask(q.Get("id")),
		f.source.Model != nil})
	if err != nil {
		return nil, fmt.Errorf("showing the page: %w", err)
	}
	return b.Bytes(), nil
}

// enter takes a place for a stream, if there is one.
func (f *feed) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open >= streams {
		return false
	}
	f.open++
	return true
}

func (f *feed) leave() {
	f.mu.Lock()
	f.open--
	f.mu.Unlock()
}

// events sends all parts as server-sent events and then each changed one, until the page or the server goes.
func (f *feed) events(w http.ResponseWriter, r *http.Request) {
	if !f.enter() {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer f.leave()
	secure(w, "text/event-stream")
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Time{}) // the request has ended; a deadline would end the stream
	sent := map[string]template.HTML{}
	tick := time.NewTicker(f.pace)
	defer tick.Stop()
	var last time.Time
	for {
		p, err := f.current()
		if err != nil {
			return
		}
		b := changes(p, sent)
		if now := f.now(); len(b) > 0 || now.Sub(last) >= f.quiet {
			last = now
			_ = c.SetWriteDeadline(time.Now().Add(f.patience)) // not all writers have one
			if _, err := w.Write(append(b, ": \n\n"...)); err != nil || c.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-f.ended:
			return
		case <-tick.C:
		}
	}
}

// changes are the events of the parts that differ from the sent ones, which it brings up to date.
func changes(p []Part, sent map[string]template.HTML) (b []byte) {
	for _, x := range p {
		if before, was := sent[x.ID]; was && before == x.HTML {
			continue
		}
		sent[x.ID] = x.HTML
		data, err := json.Marshal(struct {
			ID   string        `json:"id"`
			HTML template.HTML `json:"html"`
		}{x.ID, x.HTML})
		if err != nil {
			continue // texts always have a form
		}
		b = append(append(append(b, "event: part\ndata: "...), data...), "\n\n"...)
	}
	return b
}

package page

import (
	"bufio"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"liftstream/stream"
)

// follow opens the stream of a feed.
func follow(t *testing.T, url string) (*http.Response, *bufio.Reader) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r, bufio.NewReader(r.Body)
}

// next reads to the end of the next answer, and returns the parts in it by ID.
func next(t *testing.T, r *bufio.Reader) map[string]string {
	t.Helper()
	out := map[string]string{}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ": \n" {
			return out
		}
		data, is := strings.CutPrefix(line, "data: ")
		if !is {
			continue
		}
		var x struct{ ID, HTML string }
		if err := json.Unmarshal([]byte(data), &x); err != nil {
			t.Fatal(err)
		}
		out[x.ID] = x.HTML
	}
}

func fast(src *Source) *feed {
	f := newFeed(src)
	f.pace = time.Millisecond
	return f
}

// TestTheStreamTellsOfChangesAlone: all parts first, then the changed ones. The end of the feed ends
// it.
func TestTheStreamTellsOfChangesAlone(t *testing.T) {
	src := hostileSource(60)
	f := fast(src)
	f.quiet = 10 * time.Millisecond
	s := httptest.NewServer(http.HandlerFunc(f.events))
	defer s.Close()
	resp, r := follow(t, s.URL)
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the content is %s", got)
	}
	first := next(t, r)
	if last := first["last"]; len(first) != len(parts) || !strings.Contains(last, "p0-0-58") ||
		strings.Contains(last, "<script") {
		t.Errorf("%d parts at first", len(first))
	}
	for range 20 {
		for id := range next(t, r) {
			if id != "cards" { // which tells the pace
				t.Errorf("%s is sent unchanged", id)
			}
		}
	}
	b, out, l := scored(src.Board.schema, 0, 1, 40)
	src.Board.Scores(0, b, out, l)
	changed := map[string]bool{}
	for !changed["last"] || !changed["calls"] {
		for id := range next(t, r) {
			changed[id] = true
		}
	}
	for _, id := range []string{"profiles", "head", "drift", "course"} {
		if changed[id] {
			t.Errorf("%s is sent unchanged", id)
		}
	}
	f.end()
	if _, err := io.ReadAll(r); err != nil {
		t.Errorf("the end of the feed does not end the stream: %v", err)
	}
}

// TestStreamsAreBounded: one more is refused; it is let in when another has gone.
func TestStreamsAreBounded(t *testing.T) {
	f := newFeed(hostileSource(0))
	f.pace, f.quiet = 20*time.Millisecond, 0 // so that a stream notices that its page has gone
	s := httptest.NewServer(http.HandlerFunc(f.events))
	defer s.Close()
	defer f.end()
	var open []*http.Response
	for range streams {
		resp, r := follow(t, s.URL)
		next(t, r)
		open = append(open, resp)
	}
	refused, _ := follow(t, s.URL)
	if refused.StatusCode != http.StatusServiceUnavailable || refused.Header.Get("Retry-After") == "" {
		t.Errorf("stream %d: status %d", streams+1, refused.StatusCode)
	}
	open[0].Body.Close()
	for {
		if resp, _ := follow(t, s.URL); resp.StatusCode == http.StatusOK {
			return
		}
	}
}

// timed is a writer with deadlines that it notes.
type timed struct {
	*httptest.ResponseRecorder
	read, write []time.Time
	end         func()
}

func (w *timed) SetReadDeadline(t time.Time) error {
	w.read = append(w.read, t)
	return nil
}

func (w *timed) SetWriteDeadline(t time.Time) error {
	w.write = append(w.write, t)
	w.end()
	return nil
}

// TestTheDeadlinesOfTheServerDoNotEndAStream: that of the request is taken away, and each answer has its own.
func TestTheDeadlinesOfTheServerDoNotEndAStream(t *testing.T) {
	f := newFeed(hostileSource(0))
	w := &timed{ResponseRecorder: httptest.NewRecorder(), end: f.end}
	before := time.Now()
	f.events(w, httptest.NewRequest("GET", "/api/events", nil))
	if len(w.read) != 1 || !w.read[0].IsZero() || len(w.write) != 1 || w.write[0].Before(before.Add(patience)) {
		t.Errorf("deadlines %v to read, %v to write", w.read, w.write)
	}
}

// broken is a writer whose reader has gone.
type broken struct{ http.ResponseWriter }

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

// TestAPageThatDoesNotReadIsDropped, and its place is free again.
func TestAPageThatDoesNotReadIsDropped(t *testing.T) {
	f := fast(hostileSource(0))
	for range 2 * streams {
		f.events(broken{httptest.NewRecorder()}, httptest.NewRequest("GET", "/api/events", nil))
	}
	if f.open != 0 {
		t.Errorf("%d places are taken", f.open)
	}
}

// TestOneRenderingForAllPages in a pace, and the next one afterwards.
func TestOneRenderingForAllPages(t *testing.T) {
	src := hostileSource(0)
	status, asked := src.Status, 0
	src.Status = func() stream.Status { asked++; return status() }
	f := newFeed(src)
	var mu sync.Mutex
	now := time.Unix(1000, 0)
	f.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {100 * time.Millisecond, 1}, {500 * time.Millisecond, 1}, {time.Second, 2}, {0, 2}} {
		now = now.Add(c.after)
		if _, err := f.page(nil); err != nil || asked != c.want {
			t.Errorf("%v later: %d renderings, %v, want %d", c.after, asked, err, c.want)
		}
	}
}

// TestThePaceIsThatOfTheNewestRecords: none at first and after a long silence.
func TestThePaceIsThatOfTheNewestRecords(t *testing.T) {
	src := hostileSource(0)
	f := newFeed(src)
	now := time.Unix(1000, 0)
	var got []string
	for k, c := range []struct {
		after  time.Duration
		behind int64
		rows   int
	}{{0, 9, 50}, {2 * time.Second, 9, 3000}, {10 * time.Millisecond, 9, 10}, {2 * time.Second, 0, 10},
		{2 * time.Second, 0, 0}, {2 * time.Second, 3, 0}, {time.Minute, 3, 10}, {time.Second, 3, 7}} {
		if c.rows > 0 {
			b, out, l := scored(src.Board.schema, 0, int64(k), c.rows)
			src.Board.Scores(0, b, out, l)
		}
		now = now.Add(c.after)
		m := &moment{Live: src.Live()}
		m.Behind = c.behind
		f.measure(now, m)
		got = append(got, m.Pace)
	}
	want := []string{"", "1,500 a second", "1,500 a second", "10 a second", "waiting for more", "0 a second", "",
		"7 a second"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// BenchmarkOpenPage is the work of a second for the first open page: the figures, their rendering and the comparison of
// its parts. A stage has 1,000 ms of each processor in that time.
func BenchmarkOpenPage(b *testing.B) {
	src := hostileSource(0)
	for offset := range int64(20) {
		batch, out, l := subspaced(src.Board.schema, offset, 1000)
		src.Board.Scores(0, batch, out, l)
	}
	f := newFeed(src)
	now := time.Unix(0, 0)
	f.now = func() time.Time { return now }
	sent := map[string]template.HTML{}
	for b.Loop() {
		now = now.Add(pace)
		p, err := f.current()
		if err != nil {
			b.Fatal(err)
		}
		changes(p, sent)
	}
}

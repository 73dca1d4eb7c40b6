package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"liftstream/stream"
)

// background is a command that runs until stop.
type background struct {
	cancel   context.CancelFunc
	done     chan int
	out, err locked
}

// locked is a buffer that may be read while a command writes it.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, args ...string) *background {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b := &background{cancel: cancel, done: make(chan int, 1)}
	go func() { b.done <- execute(ctx, args, strings.NewReader(""), &b.out, &b.err) }()
	t.Cleanup(cancel)
	return b
}

// stop interrupts the command and returns its status.
func (b *background) stop(t *testing.T) int {
	t.Helper()
	b.cancel()
	return b.wait(t)
}

// wait returns the status of the command when it ends.
func (b *background) wait(t *testing.T) int {
	t.Helper()
	select {
	case status := <-b.done:
		b.done <- status
		return status
	case <-time.After(4 * time.Minute):
		t.Fatalf("the command does not end\n%s", b.err.String())
		return -1
	}
}

// eventually waits for a condition that only a broken program keeps from coming.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !ok(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// says waits until the command has written a text to standard error.
func (b *background) says(t *testing.T, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q", text), func() bool { return strings.Contains(b.err.String(), text) })
}

// pageOf finds the address of the page in the log.
func pageOf(t *testing.T, run *background) (url string) {
	t.Helper()
	eventually(t, "the address of the page", func() bool {
		s := bufio.NewScanner(strings.NewReader(run.err.String()))
		for s.Scan() {
			var x struct{ Page string }
			if json.Unmarshal(s.Bytes(), &x) == nil && x.Page != "" {
				url = x.Page
			}
		}
		return url != ""
	})
	return url
}

// get asks the endpoint of a running stage for a page.
func (b *background) get(t *testing.T, path string) (status int, text string) {
	t.Helper()
	return fetched(t, pageOf(t, b)+path)
}

// fetched asks a URL.
func fetched(t *testing.T, url string) (status int, text string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// metrics are the metrics of a running stage.
func metrics(t *testing.T, run *background) string {
	t.Helper()
	_, text := run.get(t, "metrics")
	return text
}

// learnt is the number of labelled records that a running stage has learnt.
func learnt(t *testing.T, run *background) (n int) {
	t.Helper()
	var s stream.Status
	_, text := run.get(t, "readyz")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Partitions {
		n += int(p.Labelled)
	}
	return n
}

// live asks the page of a running stage for its data.
func (w *world) live(run *background, into any) {
	w.t.Helper()
	_, text := run.get(w.t, "api/live")
	if err := json.Unmarshal([]byte(text), into); err != nil {
		w.t.Fatal(err)
	}
}

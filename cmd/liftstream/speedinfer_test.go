package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkSpeedInfer asks a stage that runs for scores, at a steady rate: each line of LIFTSTREAM_SPEED_BODIES is the
// body of a request to LIFTSTREAM_SPEED_URL, again and again, LIFTSTREAM_SPEED_RATE requests a second for
// LIFTSTREAM_SPEED_SECONDS. The time of a request is the one at which it was due, so that one which is sent late counts
// its delay. It tells the times from there to the whole answer within which half and 99 % have come, the longest, how
// late the latest request was sent, and how many were refused.
func BenchmarkSpeedInfer(b *testing.B) {
	url := os.Getenv("LIFTSTREAM_SPEED_URL")
	if url == "" {
		b.Skip("LIFTSTREAM_SPEED_URL is not set: deploy/bench/infer.py sets it")
	}
	of := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil || n < 1 {
			b.Fatalf("%s: a number from 1 on, not %q", name, os.Getenv(name))
		}
		return n
	}
	rate, seconds := of("LIFTSTREAM_SPEED_RATE"), of("LIFTSTREAM_SPEED_SECONDS")
	text, err := os.ReadFile(os.Getenv("LIFTSTREAM_SPEED_BODIES"))
	if err != nil {
		b.Fatal(err)
	}
	bodies := bytes.Split(bytes.TrimSpace(text), []byte{'\n'})
	const askers = 64
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: askers}, Timeout: 30 * time.Second}
	every := time.Second / time.Duration(rate)
	waits, late := make([]time.Duration, rate*seconds), make([]time.Duration, rate*seconds)
	var next, refused atomic.Int64
	var work sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for range askers {
		work.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(waits) {
					return
				}
				due := began.Add(time.Duration(i) * every)
				time.Sleep(time.Until(due))
				late[i] = time.Since(due)
				answer, err := client.Post(url, "application/json", bytes.NewReader(bodies[i%len(bodies)]))
				if err != nil {
					refused.Add(1)
					continue
				}
				_, err = io.Copy(io.Discard, answer.Body)
				if answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
					refused.Add(1)
					continue
				}
				waits[i] = time.Since(due)
			}
		})
	}
	work.Wait()
	waits = slices.DeleteFunc(waits, func(d time.Duration) bool { return d == 0 }) // no answer, or one that refuses
	if len(waits) == 0 {
		b.Fatal("no request was answered")
	}
	slices.Sort(waits)
	b.ReportMetric(waits[len(waits)/2].Seconds(), "half-s")
	b.ReportMetric(waits[len(waits)*99/100].Seconds(), "p99-s")
	b.ReportMetric(waits[len(waits)-1].Seconds(), "longest-s")
	b.ReportMetric(slices.Max(late).Seconds(), "late-s")
	b.ReportMetric(float64(refused.Load()), "refused")
}

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"liftstream/model/modeltest"
)

// BenchmarkSpeedInfer asks a stage that runs for scores, at a steady rate: each line of LIFTSTREAM_SPEED_BODIES is the
// body of a request to LIFTSTREAM_SPEED_URL, again and again, LIFTSTREAM_SPEED_RATE requests a second for
// LIFTSTREAM_SPEED_SECONDS. The time of a request is the one at which it was due, so that one which is sent late counts
// its delay. It tells the times from there to the whole answer within which half and 99 % have come, and the longest;
// how late half, 99 % and the latest were sent; the times from the sending; how many were refused; and the processor
// time of one. It shares the processors with the stage, so it sends bytes that are ready over connections that stay.
func BenchmarkSpeedInfer(b *testing.B) {
	address := os.Getenv("LIFTSTREAM_SPEED_URL")
	if address == "" {
		b.Skip("LIFTSTREAM_SPEED_URL is not set: deploy/bench/infer.py sets it")
	}
	at, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
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
	var requests [][]byte
	for body := range bytes.SplitSeq(bytes.TrimSpace(text), []byte{'\n'}) {
		requests = append(requests, fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: %d\r\n\r\n%s", at.RequestURI(), at.Host, len(body), body))
	}
	every := time.Second / time.Duration(rate)
	const askers = 64
	var work sync.WaitGroup
	var next, refused atomic.Int64
	answered, late := make([]time.Duration, rate*seconds), make([]time.Duration, rate*seconds)
	before := modeltest.Processor()
	b.ResetTimer()
	began := time.Now()
	for range askers {
		work.Go(func() {
			c, err := dial(at.Host)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(answered) {
					return
				}
				due := began.Add(time.Duration(i) * every)
				time.Sleep(time.Until(due))
				late[i] = time.Since(due)
				status, err := c.exchange(requests[i%len(requests)])
				if err != nil {
					b.Error(err)
					return
				}
				if status != "200" {
					refused.Add(1)
					continue
				}
				answered[i] = time.Since(due)
			}
		})
	}
	work.Wait()
	spent := modeltest.Processor() - before
	var waits, alone []time.Duration
	for i, d := range answered {
		if d > 0 { // else no answer, or one that refuses
			waits, alone = append(waits, d), append(alone, d-late[i])
		}
	}
	if len(waits) == 0 {
		b.Fatal("no request was answered")
	}
	for _, x := range []struct {
		name  string
		times []time.Duration
	}{{"", waits}, {"late-", late}, {"answer-", alone}} {
		slices.Sort(x.times)
		b.ReportMetric(x.times[len(x.times)/2].Seconds()*1000, x.name+"half-ms")
		b.ReportMetric(x.times[len(x.times)*99/100].Seconds()*1000, x.name+"p99-ms")
		b.ReportMetric(x.times[len(x.times)-1].Seconds()*1000, x.name+"longest-ms")
	}
	b.ReportMetric(float64(refused.Load()), "refused")
	b.ReportMetric(spent.Seconds()*1e6/float64(len(answered)), "asker-us")
}

// connection is one to a server of HTTP that answers with the length of each body.
type connection struct {
	net.Conn
	in *bufio.Reader
}

func dial(host string) (*connection, error) {
	c, err := net.DialTimeout("tcp", host, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return &connection{c, bufio.NewReader(c)}, nil
}

// exchange sends a request, reads the whole answer, and returns its status.
func (c *connection) exchange(request []byte) (status string, err error) {
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return "", err
	}
	if _, err := c.Write(request); err != nil {
		return "", err
	}
	size := -1
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return "", fmt.Errorf("reading an answer: %w", err)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if first {
			_, rest, _ := bytes.Cut(line, []byte{' '})
			code, _, _ := bytes.Cut(rest, []byte{' '})
			if status = "200"; string(code) != status {
				status = string(code)
			}
		}
		if v, is := bytes.CutPrefix(line, []byte("Content-Length: ")); is {
			if size, err = strconv.Atoi(string(v)); err != nil {
				return "", fmt.Errorf("reading an answer: %w", err)
			}
		}
	}
	if size < 0 {
		return "", fmt.Errorf("reading an answer: status %s without a length", status)
	}
	_, err = c.in.Discard(size)
	return status, err
}

package txn

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// Kafka's numbers of the requests that faults are about.
const (
	apiProduce         = 0
	apiFetch           = 1
	apiInitProducerID  = 22
	apiAddPartitions   = 24
	apiAddOffsets      = 25
	apiEndTxn          = 26
	apiTxnOffsetCommit = 28
)

type mode int

const (
	cutBefore mode = iota // the request never leaves
	cutAfter              // the broker has answered, the answer never arrives
	hold                  // the connection seems cut, and the request arrives at the broker when release is called
)

var errCut = errors.New("cut by the test")

// faults is a dialer whose connections look at the requests on them, count them, and break down on demand.
type faults struct {
	t *testing.T

	mu    sync.Mutex
	armed []fault
	seen  map[int16]int
	held  func() // sends the held request and waits for its answer
}

// fault happens to the next request of that kind.
type fault struct {
	api  int16
	mode mode
}

func newFaults(t *testing.T) *faults { return &faults{t: t, seen: make(map[int16]int)} }

// arm adds a fault that strikes once, after those armed before it.
func (f *faults) arm(api int16, m mode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = append(f.armed, fault{api, m})
}

// count is how many requests of that kind were begun.
func (f *faults) count(api int16) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[api]
}

func (f *faults) fired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.armed) == 0
}

// release lets the broker have the held request at last.
func (f *faults) release() {
	f.mu.Lock()
	send := f.held
	f.held = nil
	f.mu.Unlock()
	if send == nil {
		f.t.Fatal("no request is held")
	}
	send()
}

func (f *faults) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &faultyConn{Conn: conn, faults: f}, nil
}

type faultyConn struct {
	net.Conn
	faults *faults
	rest   int // bytes of the current request still to come

	cut     bool
	answer  bool // read the answer, then cut
	holding []byte
	isHeld  bool
}

func (c *faultyConn) Write(p []byte) (int, error) {
	if c.cut {
		return 0, errCut
	}
	if c.isHeld {
		return c.keep(p)
	}
	if c.rest == 0 && len(p) >= 6 {
		c.rest = int(binary.BigEndian.Uint32(p)) + 4
		api := int16(binary.BigEndian.Uint16(p[4:]))
		f := c.faults
		f.mu.Lock()
		f.seen[api]++
		hit := len(f.armed) > 0 && f.armed[0].api == api
		var mode mode
		if hit {
			mode, f.armed = f.armed[0].mode, f.armed[1:]
		}
		f.mu.Unlock()
		if hit {
			switch mode {
			case cutBefore:
				c.cut = true
				c.Conn.Close()
				return 0, errCut
			case cutAfter:
				c.answer = true
			case hold:
				c.isHeld = true
				return c.keep(p)
			}
		}
	}
	n, err := c.Conn.Write(p)
	c.rest -= n
	return n, err
}

func (c *faultyConn) keep(p []byte) (int, error) {
	c.holding = append(c.holding, p...)
	c.rest -= len(p)
	if c.rest > 0 {
		return len(p), nil
	}
	conn, request := c.Conn, c.holding
	c.faults.mu.Lock()
	c.faults.held = func() {
		defer conn.Close()
		if _, err := conn.Write(request); err != nil {
			c.faults.t.Errorf("sending the held request: %v", err)
			return
		}
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			c.faults.t.Errorf("waiting for the answer to the held request: %v", err)
		}
	}
	c.faults.mu.Unlock()
	c.Conn = deadConn{conn}
	c.cut = true
	return len(p), errCut
}

func (c *faultyConn) Read(p []byte) (int, error) {
	if c.cut {
		return 0, errCut
	}
	n, err := c.Conn.Read(p)
	if c.answer && err == nil {
		c.cut = true
		c.Conn.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// deadConn leaves the connection beneath it open when it is closed.
type deadConn struct{ net.Conn }

func (deadConn) Read([]byte) (int, error)  { return 0, errCut }
func (deadConn) Write([]byte) (int, error) { return 0, errCut }
func (deadConn) Close() error              { return nil }

package txn

import (
	"context"
	"net"
	"sync"
)

// stuck is a dialer whose connections can be made to swallow all written bytes, as a network without route does.
type stuck struct {
	mu      sync.Mutex
	stopped bool
}

func newStuck() *stuck { return &stuck{} }

func (s *stuck) stop() { s.set(true) }
func (s *stuck) goOn() { s.set(false) }

func (s *stuck) set(v bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = v
}

func (s *stuck) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &stuckConn{conn, s}, nil
}

type stuckConn struct {
	net.Conn
	s *stuck
}

func (c *stuckConn) Write(p []byte) (int, error) {
	c.s.mu.Lock()
	stopped := c.s.stopped
	c.s.mu.Unlock()
	if stopped {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

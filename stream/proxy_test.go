package stream

import (
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// proxy stands between clients and one broker and understands enough of the protocol to be the broker's address to them
// and to hold single requests back.
type proxy struct {
	t        testing.TB
	listener net.Listener
	upstream string

	delay atomic.Int64 // nanoseconds that each frame waits
	holed atomic.Bool  // frames are taken and go nowhere until it ends

	mu    sync.Mutex
	conns map[net.Conn]bool
	hold  kmsg.Key // requests of this key are held back, one at a time; -1 = none
	held  map[string]heldRequest
	count int // held requests that were delivered
}

// heldRequest is a request whose client has been cut off, to be delivered inside that client's next transaction.
type heldRequest struct {
	key   kmsg.Key
	frame []byte
}

func newProxy(t testing.TB, upstream string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		t:        t,
		listener: l,
		upstream: upstream,
		conns:    map[net.Conn]bool{},
		hold:     -1,
		held:     map[string]heldRequest{},
	}
	t.Cleanup(func() { _ = l.Close(); p.holed.Store(false); p.cut() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) track(c net.Conn, on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
		_ = c.Close()
	}
}

// asked is a request under way.
type asked struct{ key, version int16 }

func (p *proxy) serve(client net.Conn) {
	p.track(client, true)
	defer p.track(client, false)
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	p.track(server, true)
	defer p.track(server, false)
	var mu sync.Mutex
	open := map[int32]asked{}
	go func() {
		defer client.Close()
		for {
			frame, err := readFrame(server)
			if err != nil {
				return
			}
			id := int32(binary.BigEndian.Uint32(frame[4:]))
			mu.Lock()
			a := open[id]
			delete(open, id)
			mu.Unlock()
			frame = p.rewrite(frame, a)
			p.pass()
			if _, err := client.Write(frame); err != nil {
				return
			}
		}
	}()
	for {
		frame, err := readFrame(client)
		if err != nil {
			return
		}
		a := asked{int16(binary.BigEndian.Uint16(frame[4:])), int16(binary.BigEndian.Uint16(frame[6:]))}
		mu.Lock()
		open[int32(binary.BigEndian.Uint32(frame[8:]))] = a
		mu.Unlock()
		p.pass()
		if p.heldBack(frame, a) {
			return
		}
		if _, err := server.Write(frame); err != nil {
			return
		}
	}
}

func (p *proxy) pass() {
	time.Sleep(time.Duration(p.delay.Load()))
	for p.holed.Load() {
		time.Sleep(5 * time.Millisecond)
	}
}

// readFrame reads one message with its size.
func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, 4+binary.BigEndian.Uint32(size[:]))
	copy(frame, size[:])
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// rewrite puts the proxy's address in the place of the broker's.
func (p *proxy) rewrite(frame []byte, a asked) []byte {
	if a.key != int16(kmsg.Metadata) && a.key != int16(kmsg.FindCoordinator) {
		return frame
	}
	res := kmsg.ResponseForKey(a.key)
	res.SetVersion(a.version)
	at := 8
	if res.IsFlexible() {
		at++
	}
	if err := res.ReadFrom(frame[at:]); err != nil {
		p.t.Errorf("proxy: response %d version %d: %v", a.key, a.version, err)
		return frame
	}
	host, text, _ := net.SplitHostPort(p.addr())
	port, _ := strconv.Atoi(text)
	switch r := res.(type) {
	case *kmsg.MetadataResponse:
		for i := range r.Brokers {
			r.Brokers[i].Host, r.Brokers[i].Port = host, int32(port)
		}
	case *kmsg.FindCoordinatorResponse:
		r.Host, r.Port = host, int32(port)
		for i := range r.Coordinators {
			r.Coordinators[i].Host, r.Coordinators[i].Port = host, int32(port)
		}
	}
	out := res.AppendTo(append([]byte(nil), frame[:at]...))
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

// holdBack makes the proxy keep the next request of that key and deliver it inside the same client's next transaction.
func (p *proxy) holdBack(key kmsg.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = key
}

func (p *proxy) delivered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// heldBack keeps the request, or delivers an older one before it.
func (p *proxy) heldBack(frame []byte, a asked) bool {
	id := ""
	switch kmsg.Key(a.key) {
	case kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn:
		id = transactionalID(frame, a)
	}
	if id == "" || strings.HasSuffix(id, "-trainer") { // the trainer's transactions are too rare to wait for
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.held[id]; ok {
		// A Produce comes just before the next transaction's own, an EndTxn when its records are there already.
		if old.key == kmsg.Produce && kmsg.Key(a.key) == kmsg.Produce ||
			old.key == kmsg.EndTxn && kmsg.Key(a.key) == kmsg.TxnOffsetCommit {
			delete(p.held, id)
			p.deliver(old.frame)
			p.count++
		}
		return false
	}
	if kmsg.Key(a.key) != p.hold {
		return false
	}
	p.hold = -1
	p.held[id] = heldRequest{kmsg.Key(a.key), frame}
	return true
}

// transactionalID returns the first field of a request that begins with it.
func transactionalID(frame []byte, a asked) string {
	at := 14 + max(int(int16(binary.BigEndian.Uint16(frame[12:]))), 0)
	req := kmsg.RequestForKey(a.key)
	req.SetVersion(a.version)
	if req.IsFlexible() {
		n, k := binary.Uvarint(frame[at+1:]) // after the header's tags
		if n <= 1 {
			return ""
		}
		return string(frame[at+1+k : at+k+int(n)])
	}
	n := int(int16(binary.BigEndian.Uint16(frame[at:])))
	return string(frame[at+2 : at+2+max(n, 0)])
}

// deliver sends a request on a connection of its own and waits for the answer.
func (p *proxy) deliver(frame []byte) {
	c, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write(frame); err == nil {
		_, _ = readFrame(c)
	}
}

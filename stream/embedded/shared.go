package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// brokerFile is the file in the directory of an embedded broker that is locked while the broker runs and holds its
// address, so that other processes find it. The next broker listens there again if it can.
const brokerFile = "liftstream-broker"

// look is how often a process looks whether the lock is free.
const look = 100 * time.Millisecond

// Shared is the broker of a directory that several processes use: one of them runs it, the others connect to it.
type Shared struct {
	addr string
	dir  string
	own  *locked    // the broker of this process, nil = another process runs it
	next *successor // nil = none
}

// locked is a running broker with the lock of its directory.
type locked struct {
	*Broker
	lock *os.File
}

func (b *locked) close() {
	b.Close()
	_ = b.lock.Close()
}

// Share starts a broker on o.Dir, or finds the one that another process runs there.
func Share(o Options) (*Shared, error) {
	// The broker's library makes its files readable for others; here the process as a whole makes none such.
	syscall.Umask(0o077)
	if err := private(o.Dir); err != nil {
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	name := filepath.Join(o.Dir, brokerFile)
	// The other process may have locked and not yet written its address, or be ending.
	for range 50 {
		lock, err := lockFile(name)
		if err != nil {
			return nil, fmt.Errorf("starting the embedded broker: %w", err)
		}
		if lock != nil {
			own, err := startLocked(o, lock)
			if err != nil {
				return nil, err
			}
			return &Shared{addr: own.Addr(), dir: o.Dir, own: own}, nil
		}
		if addr := SharedAddr(o.Dir); addr != "" {
			return &Shared{addr: addr, dir: o.Dir}, nil
		}
		time.Sleep(look)
	}
	return nil, fmt.Errorf(
		"starting the embedded broker: another process keeps %s locked and does not say where it listens", name)
}

// Addr is the host and port at which the broker listens.
func (s *Shared) Addr() string { return s.addr }

// Own reports whether this process runs the broker since Share.
func (s *Shared) Own() bool { return s.own != nil }

// Succeed lets this process run the broker, at the same address, after the process that runs it has ended: a
// long-running stage outlives the short command that happened to start the broker. It has no effect where Own is true.
func (s *Shared) Succeed() {
	if s.own == nil && s.next == nil {
		s.next = succeed(s.dir)
	}
}

// Close stops the broker if this process runs it, and the wait for its end otherwise.
func (s *Shared) Close() {
	if s.next != nil {
		s.next.close()
	}
	if s.own != nil {
		s.own.close()
	}
}

// lockFile opens and locks a file; nil without an error when another process has locked it.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}

// SharedAddr reads the address of the last broker that was shared on a directory; "" while there is none.
func SharedAddr(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, brokerFile))
	if err != nil {
		return ""
	}
	addr, whole := strings.CutSuffix(string(text), "\n")
	if !whole {
		return ""
	}
	return addr
}

// startLocked starts a broker whose directory is locked by lock, which it then owns: at the address of the broker
// before, unless o names an address or that one is taken.
func startLocked(o Options, lock *os.File) (*locked, error) {
	before := SharedAddr(o.Dir)
	if err := lock.Truncate(0); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	var b *Broker
	var err error
	if o.Listen == "" && before != "" {
		again := o
		again.Listen = before
		b, err = Start(again)
	}
	if b == nil {
		b, err = Start(o)
	}
	if err == nil {
		if _, err = lock.WriteAt([]byte(b.Addr()+"\n"), 0); err != nil {
			b.Close()
		}
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &locked{b, lock}, nil
}

// successor waits for the end of the process that runs a shared broker, and then runs it.
type successor struct {
	stop, stopped chan struct{}
	broker        *locked // written before stopped is closed
}

func succeed(dir string) *successor {
	h := &successor{stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(h.stopped)
		tick := time.NewTicker(look)
		defer tick.Stop()
		for h.broker == nil {
			select {
			case <-h.stop:
				return
			case <-tick.C:
			}
			lock, err := lockFile(filepath.Join(dir, brokerFile))
			if err != nil || lock == nil {
				continue
			}
			// A failure leaves the file to the next attempt, and the clients to their patience.
			h.broker, _ = startLocked(Options{Dir: dir}, lock)
		}
	}()
	return h
}

func (h *successor) close() {
	close(h.stop)
	<-h.stopped
	if h.broker != nil {
		h.broker.close()
	}
}

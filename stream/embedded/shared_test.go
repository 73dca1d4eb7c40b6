package embedded

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestShare: the first process runs the broker, the second finds it, and runs it at the same address after the first.
func TestShare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "broker")
	if addr := SharedAddr(dir); addr != "" {
		t.Errorf("an empty directory has the address %s", addr)
	}
	first, err := Share(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Share(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !first.Own() || second.Own() || first.Addr() != second.Addr() || SharedAddr(dir) != first.Addr() {
		t.Fatalf("first %+v, second %+v, address %s", first, second, SharedAddr(dir))
	}
	second.Succeed()
	first.Close()
	select {
	case <-second.next.stopped: // its wait ends when it runs the broker
	case <-time.After(time.Minute):
		t.Fatal("no successor runs the broker")
	}
	if got := second.next.broker.Addr(); got != second.Addr() || SharedAddr(dir) != got {
		t.Errorf("the successor listens at %s, its file says %s; want %s", got, SharedAddr(dir), second.Addr())
	}
	second.Close()
	again, err := Share(Options{Dir: dir})
	if err != nil || !again.Own() {
		t.Fatalf("after the end of both: %+v, %v", again, err)
	}
	again.Close()
}

// TestShareSaysWhy: a directory that cannot be made is named.
func TestShareSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Share(Options{Dir: filepath.Join(file, "broker")}); err == nil {
		s.Close()
		t.Error("a broker runs below a file")
	}
}

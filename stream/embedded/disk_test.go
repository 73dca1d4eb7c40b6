package embedded

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liftstream/stream/txn"
)

func begin(t *testing.T, dir string, timeout time.Duration) (*Broker, *txn.Client) {
	t.Helper()
	b, err := Start(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	c := txn.NewClient(txn.Config{Brokers: []string{b.Addr()}, Timeout: timeout})
	t.Cleanup(c.Close)
	if _, err := c.CreateTopics(t.Context(), txn.TopicSpec{Name: "t", Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	return b, c
}

func send(ctx context.Context, c *txn.Client, partition, size int) error {
	r := txn.Record{Topic: "t", Partition: partition, Value: bytes.Repeat([]byte("x"), size)}
	return c.Produce(ctx, []txn.Record{r}, txn.None)
}

func length(t *testing.T, c *txn.Client, partition int) int64 {
	t.Helper()
	_, end, err := c.Bounds(t.Context(), "t", partition)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// A batch that does not fit on the disk is refused by name, and nothing of it is taken for written.
func TestFullDisk(t *testing.T) {
	b, c := begin(t, t.TempDir(), time.Second)
	left := uint64(reserve + 100<<10)
	b.disk.mu.Lock()
	b.disk.free = func(string) (uint64, error) { return left, nil }
	b.disk.mu.Unlock()
	if err := send(t.Context(), c, 0, 1000); err != nil {
		t.Fatal(err)
	}
	err := send(t.Context(), c, 0, 100<<10)
	if txn.KindOf(err) != txn.Environment || !strings.Contains(err.Error(), "the disk of the embedded broker is full") {
		t.Errorf("got %v", err)
	}
	if n := length(t, c, 0); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	p, err := c.NewProducer(t.Context(), "id", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	// A transaction that fits is ended though messages do not fit any more.
	b.disk.mu.Lock()
	left = reserve + 10<<10
	b.disk.mu.Unlock()
	if err := p.Commit(t.Context(), txn.Transaction{Records: []txn.Record{{Topic: "t", Value: []byte("v")}}}); err != nil {
		t.Error(err)
	}
	b.disk.mu.Lock()
	left = 1 << 40
	b.disk.mu.Unlock()
	if err := send(t.Context(), c, 0, 100<<10); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// The file system refuses a write though there is space, as at a quota.
func TestWritesThatFail(t *testing.T) {
	dir := t.TempDir()
	_, c := begin(t, dir, time.Second)
	if err := send(t.Context(), c, 0, 10); err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(dir, "partitions", "t-1")
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), c, 1, 10); err == nil || !strings.Contains(err.Error(), "could not write") {
		t.Errorf("got %v", err)
	}
	if n := length(t, c, 1); n != 0 {
		t.Errorf("%d records, want none", n)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), c, 1, 10); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if n := length(t, c, 1); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
}

func TestDirectoriesArePrivate(t *testing.T) {
	open := func(dir string) (out []string) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	former := filepath.Join(t.TempDir(), "former") // as former builds left it
	if err := os.MkdirAll(filepath.Join(former, "partitions"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{brokerFile, "partitions/records"} {
		if err := os.WriteFile(filepath.Join(former, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{former, filepath.Join(t.TempDir(), "new"), t.TempDir()} {
		s, err := Share(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		c := txn.NewClient(txn.Config{Brokers: []string{s.Addr()}})
		if _, err = c.CreateTopics(t.Context(), txn.TopicSpec{Name: "t", Partitions: 1}); err == nil {
			err = send(t.Context(), c, 0, 10)
		}
		c.Close()
		s.Close()
		if found := open(dir); err != nil || len(found) > 0 {
			t.Errorf("%v; others can read %v", err, found)
		}
	}
	mine := t.TempDir()
	if err := os.WriteFile(filepath.Join(mine, "letters.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	if s, err := Share(Options{Dir: mine}); err == nil || !strings.Contains(err.Error(), "a directory of its own") {
		t.Errorf("a directory of other things: %v, %v", s, err)
	}
	if info, err := os.Stat(mine); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("it was changed: %v, %v", info.Mode(), err)
	}
}

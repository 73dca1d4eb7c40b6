package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka's codes of errors.
const (
	outOfOrderSequence = 45
	storageError       = 56
)

// reserve is the space that messages leave for the ends of transactions, offsets and the broker's own files.
const reserve = 2 << 20

// disk keeps the broker honest on a full disk. kfake answers a batch that it cannot write with an unknown error, and
// counts its sequence all the same: the client's next attempt is then answered as a duplicate, as if it were
// written. So a batch that does not fit is refused before, and one whose write fails all the same, as at a quota, is
// refused again and again: its producer begins anew.
type disk struct {
	dir  string
	free func(dir string) (uint64, error)

	mu      sync.Mutex
	current []batch // of the request that the broker works on
	lost    map[batch]bool
	reason  string // of the last failed write
	pause   int    // requests that are refused for it before the next attempt
}

// pauses is how many requests a failed write refuses: the clients then know the reason.
const pauses = 4

// batch is the part of a batch's identity that is counted by its sequence.
type batch struct {
	topic     string
	partition int32
	producer  int64
	epoch     int16
}

func newDisk(dir string) *disk { return &disk{dir: dir, free: freeBytes, lost: map[batch]bool{}} }

func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("asking for the free space of %s: %w", dir, err)
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil //nolint:unconvert // other systems have other types
}

// Logf is told by the broker of batches that it could not write.
func (d *disk) Logf(_ kfake.LogLevel, format string, args ...any) {
	if !strings.HasPrefix(format, "persist batch") {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reason, d.pause = fmt.Sprintf(format, args...), pauses
	for _, b := range d.current {
		d.lost[b] = true
	}
}

// produce answers a request to produce that must not reach the broker, nil for any other. The broker works on one
// request at a time.
func (d *disk) produce(r *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.current = d.current[:0]
	size, lost := 0, false
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			size += len(p.Records)
			if len(p.Records) < 53 {
				continue // no batch: the broker says so
			}
			b := batch{r.Topics[i].Topic, p.Partition, int64(binary.BigEndian.Uint64(p.Records[43:])),
				int16(binary.BigEndian.Uint16(p.Records[51:]))}
			if b.producer >= 0 {
				d.current = append(d.current, b)
				lost = lost || d.lost[b]
			}
		}
	}
	if lost {
		return refuse(r, outOfOrderSequence, "the embedded broker could not write a batch of this producer: "+d.reason)
	}
	if d.pause > 0 {
		d.pause--
		return refuse(r, storageError, "the embedded broker could not write: "+d.reason)
	}
	free, err := d.free(d.dir)
	if err == nil && free >= reserve+2*uint64(size) {
		return nil
	}
	text := fmt.Sprintf("the disk of the embedded broker is full: %s has %d KiB left", d.dir, free>>10)
	if err != nil {
		text = err.Error()
	}
	return refuse(r, storageError, text)
}

// refuse answers all partitions of a request with an error.
func refuse(r *kmsg.ProduceRequest, code int16, text string) *kmsg.ProduceResponse {
	out := r.ResponseKind().(*kmsg.ProduceResponse)
	for i := range r.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic, t.TopicID = r.Topics[i].Topic, r.Topics[i].TopicID
		for j := range r.Topics[i].Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode, p.BaseOffset = r.Topics[i].Partitions[j].Partition, code, -1
			if r.Version >= 8 {
				p.ErrorMessage = &text
			}
			t.Partitions = append(t.Partitions, p)
		}
		out.Topics = append(out.Topics, t)
	}
	return out
}

// guard lets the disk look at each request to produce before the broker works on it.
func (d *disk) guard(c *kfake.Cluster) {
	c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if refusal := d.produce(r.(*kmsg.ProduceRequest)); refusal != nil {
			c.KeepControl()
			return refusal, nil, true
		}
		return nil, nil, false
	})
}

// own lies in each directory that a broker has written, from its first start on.
var own = []string{brokerFile, cleanFile, "meta.json"}

// private makes the directory of a broker, new or not, unreadable for other accounts: it holds events of people. One
// that holds other things than a broker's is refused.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	ours := len(entries) == 0
	for _, name := range own {
		_, err := os.Lstat(filepath.Join(dir, name))
		ours = ours || err == nil
	}
	if !ours {
		return fmt.Errorf("other accounts can read %s, and it holds other things than those of a broker: "+
			"give a directory of its own, or 'chmod 700' this one", dir)
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir():
			return os.Chmod(path, 0o700)
		case e.Type().IsRegular():
			return os.Chmod(path, 0o600)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("making %s private: %w", dir, err)
	}
	return nil
}

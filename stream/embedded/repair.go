package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// cleanFile lies in the directory of a broker that was closed in order.
const cleanFile = "liftstream-closed"

// repair writes the abort markers that the broker leaves out after it was killed. It then counts the transactions that
// were open as aborted, but its log has no end of them, so that readers leave out everything that the same producer
// writes later, committed or not.
func repair(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := &requester{conn: conn, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("liftstream-repair"))}
	m := kmsg.NewPtrMetadataRequest()
	m.Version = 8
	m.Topics = nil // all of them
	answer, err := r.ask(m)
	if err != nil {
		return err
	}
	for _, t := range answer.(*kmsg.MetadataResponse).Topics {
		for _, p := range t.Partitions {
			if err := r.closeTransactions(*t.Topic, p.Partition); err != nil {
				return fmt.Errorf("partition %d of %s: %w", p.Partition, *t.Topic, err)
			}
		}
	}
	return nil
}

// requester speaks to the broker, one request at a time.
type requester struct {
	conn   net.Conn
	format *kmsg.RequestFormatter
	count  int32
}

func (r *requester) ask(req kmsg.Request) (kmsg.Response, error) {
	r.count++
	if err := r.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := r.conn.Write(r.format.AppendRequest(nil, req, r.count)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(r.conn, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r.conn, body); err != nil {
		return nil, err
	}
	res := req.ResponseKind()
	if len(body) < 5 {
		return nil, io.ErrUnexpectedEOF
	}
	body = body[4:]
	if res.IsFlexible() {
		body = body[1:] // no tags in the header
	}
	return res, res.ReadFrom(body)
}

// closeTransactions reads the headers of a partition's batches and writes a marker for each producer whose last
// transaction has none.
func (r *requester) closeTransactions(topic string, partition int32) error {
	open := map[int64]int16{} // producer and epoch
	for at := int64(0); ; {
		fetch := kmsg.NewPtrFetchRequest()
		fetch.Version, fetch.ReplicaID, fetch.SessionEpoch, fetch.MaxBytes = 11, -1, -1, 16<<20
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = partition, at, 16<<20, -1
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.Partitions = topic, append(t.Partitions, p)
		fetch.Topics = append(fetch.Topics, t)
		answer, err := r.ask(fetch)
		if err != nil {
			return err
		}
		topics := answer.(*kmsg.FetchResponse).Topics
		if len(topics) != 1 || len(topics[0].Partitions) != 1 {
			return errors.New("the answer is not about the one partition asked for")
		}
		found := &topics[0].Partitions[0]
		if found.ErrorCode == 1 && at < found.LogStartOffset { // out of range: older ones were deleted
			at = found.LogStartOffset
			continue
		}
		if found.ErrorCode != 0 {
			return fmt.Errorf("error %d", found.ErrorCode)
		}
		next := at
		for raw := found.RecordBatches; len(raw) > 61; {
			size := 12 + int(binary.BigEndian.Uint32(raw[8:]))
			if size > len(raw) {
				break
			}
			attributes := binary.BigEndian.Uint16(raw[21:])
			producer, epoch := int64(binary.BigEndian.Uint64(raw[43:])), int16(binary.BigEndian.Uint16(raw[51:]))
			switch {
			case attributes&0x20 != 0:
				delete(open, producer)
			case attributes&0x10 != 0:
				open[producer] = epoch
			}
			next = int64(binary.BigEndian.Uint64(raw)) + int64(binary.BigEndian.Uint32(raw[23:])) + 1
			raw = raw[size:]
		}
		if next == at {
			break
		}
		at = next
	}
	for _, producer := range slices.Sorted(maps.Keys(open)) {
		t := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
		t.Topic, t.Partitions = topic, []int32{partition}
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.Topics = producer, open[producer], append(m.Topics, t)
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		req.Markers = append(req.Markers, m)
		answer, err := r.ask(req)
		if err != nil {
			return err
		}
		for _, m := range answer.(*kmsg.WriteTxnMarkersResponse).Markers {
			for _, t := range m.Topics {
				for _, p := range t.Partitions {
					if p.ErrorCode != 0 {
						return fmt.Errorf("ending the transaction of producer %d: error %d", producer, p.ErrorCode)
					}
				}
			}
		}
	}
	return nil
}

// wasKilled reports whether the directory holds a broker that was not closed, and notes that one runs there now.
func wasKilled(dir string) (bool, error) {
	if dir == "" {
		return false, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	err = os.Remove(filepath.Join(dir, cleanFile))
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() }), nil
}

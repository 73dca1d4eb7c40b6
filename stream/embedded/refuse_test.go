package embedded

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestALostBatchRefusesTheWholeRequest: a producer of which one batch could not be written is refused, in each
// partition of its next requests.
func TestALostBatchRefusesTheWholeRequest(t *testing.T) {
	for lost := range int32(3) {
		d := newDisk(t.TempDir())
		d.lost[batch{"t", lost, 7, 2}] = true
		for _, c := range []struct {
			producer int64
			epoch    int16
			code     int16 // 0 = it goes to the broker
		}{{7, 2, outOfOrderSequence}, {7, 3, 0}, {8, 2, 0}, {-1, 2, 0}} {
			r := kmsg.NewPtrProduceRequest()
			topic := kmsg.NewProduceRequestTopic()
			topic.Topic = "t"
			for partition := range int32(3) {
				p := kmsg.NewProduceRequestTopicPartition()
				p.Partition, p.Records = partition, make([]byte, 61)
				binary.BigEndian.PutUint64(p.Records[43:], uint64(c.producer))
				binary.BigEndian.PutUint16(p.Records[51:], uint16(c.epoch))
				topic.Partitions = append(topic.Partitions, p)
			}
			r.Topics = append(r.Topics, topic)
			got := int16(0)
			if a := d.produce(r); a != nil {
				got = a.Topics[0].Partitions[0].ErrorCode
			}
			if got != c.code {
				t.Errorf("partition %d lost a batch, producer %d of epoch %d: error %d, want %d", lost, c.producer, c.epoch, got,
					c.code)
			}
		}
	}
}

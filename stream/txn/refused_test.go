package txn

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// testSmallTopic: batches keep to the limit of their topic, where the client has asked for it, and after a refusal
// where it has not.
func testSmallTopic(t *testing.T, b *broker) {
	ctx := testContext(t)
	for _, asked := range []bool{true, false} {
		c := b.client(t)
		topic := mustTopic(t, c, 1, map[string]string{"max.message.bytes": "20000"})
		if asked {
			if err := c.LearnLimits(ctx, topic); err != nil {
				t.Fatal(err)
			}
		}
		p := mustProducer(t, c, unique("id"))
		var records []Record
		rng := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			noise := make([]byte, 5000)
			for i := range noise {
				noise[i] = byte(rng.Uint32())
			}
			records = append(records, record(topic, 0, string(noise)))
		}
		refusals := 0
		for {
			err := p.Commit(ctx, Transaction{Records: records, Compression: Lz4})
			if err == nil {
				break
			}
			mustKind(t, "a batch above the limit", err, TooLarge)
			if refusals++; !Shrunk(err) || asked || refusals > 10 {
				t.Fatalf("asked %v, refusal %d: %v", asked, refusals, err)
			}
			if err := p.Recover(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if refusals == 0 && !asked {
			t.Error("the first batches were taken: the test proves nothing")
		}
		// A single record up to Limit is taken, of any bytes.
		whole := strings.Repeat(string(records[0].Value), 20)
		fits := record(topic, 0, whole[:c.Limit(topic)-50])
		if n := c.Limit(topic) - RecordBytes(&fits); n < 0 || n > 50 {
			t.Errorf("%d bytes are left of the limit", n)
		}
		if err := p.Commit(ctx, Transaction{Records: []Record{fits}, Compression: Lz4}); err != nil {
			t.Errorf("a record of Limit (%d bytes): %v", c.Limit(topic), err)
		}
	}
}

// testStamps: a topic that refuses a timestamp gets none from then on, where the client has not asked for its bounds.
func testStamps(t *testing.T, b *broker) {
	ctx, c := testContext(t), b.client(t)
	topic := mustTopic(t, c, 1, map[string]string{"message.timestamp.after.max.ms": "3600000"})
	p := mustProducer(t, c, unique("id"))
	ahead := record(topic, 0, "a")
	ahead.Time = time.Now().Add(48 * time.Hour)
	err := p.Commit(ctx, Transaction{Records: []Record{ahead}, Compression: Lz4})
	if err == nil {
		t.Skip("this broker takes all timestamps")
	}
	if !Shrunk(err) {
		t.Fatalf("got %v", err)
	}
	if err := p.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(ctx, Transaction{Records: []Record{ahead}, Compression: Lz4}); err != nil {
		t.Fatal(err)
	}
	if err := c.LearnLimits(ctx, topic); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, at := range []time.Time{ahead.Time, now.Add(10 * time.Minute), {}, now.Add(-1000 * time.Hour)} {
		got := c.Stamp(topic, at, now)
		if want := at; at.Equal(ahead.Time) && !got.Equal(now) || !at.Equal(ahead.Time) && !got.Equal(want) {
			t.Errorf("%v becomes %v", at, got)
		}
		if kept := c.Keeps(topic, at, now); kept != at.IsZero() { // the topic gets no timestamps from this client
			t.Errorf("%v is kept: %v", at, kept)
		}
	}
	c.limits.by = map[string]topicLimits{"limited": {after: time.Hour}, "stamped": {appends: true}}
	for topic, want := range map[string]bool{"limited": false, "stamped": false, "unknown": true} {
		if kept := c.Keeps(topic, now.Add(2*time.Hour), now); kept != want {
			t.Errorf("topic %s keeps it: %v", topic, kept)
		}
	}
	if c.Keeps("stamped", now, now) || !c.Keeps("limited", now, now) {
		t.Error("the time of now is kept otherwise")
	}
}

package resend_test

import (
	"errors"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/deadletter"
	"liftstream/stream/resend"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestLettersThatComeMeanwhileWait for the next run, though an answer of the broker has brought them to this one: a
// message that dies again at once would go round, and a letter that is neither sent nor waits is lost.
func TestLettersThatComeMeanwhileWait(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		value := make([]byte, 600<<10) // the letters of the beginning take more than one answer
		for i := range value {
			value[i] = byte(i * i >> 8)
		}
		for i := range 10 {
			r := txn.Record{Value: value, Offset: int64(i), Time: time.UnixMilli(5000)}
			if i == 0 {
				r.Headers = []txn.Header{{Key: deadletter.HeaderReplays, Value: []byte("3")}}
			}
			w.WriteLetters(errors.New("by the test"), time.Unix(1, 0), nil, r)
		}
		told := map[resend.Outcome]int{}
		o := options(w, w.Client, told)
		o.Most = 3
		each := o.Each
		o.Each = func(l *resend.Letter, out resend.Outcome) { // the first letter, which stays, is told of at once
			if each(l, out); out == resend.Exhausted && told[out] == 1 {
				post(t, w, 100, 3, codec.ReasonDamaged)
			}
		}
		run(t, o)
		if got := arrived(w); len(got) != 9 || told[resend.Sent] != 9 || told[resend.Exhausted] != 1 {
			t.Fatalf("%d messages, told of %v", len(got), told)
		}
		run(t, o)
		if got := arrived(w); len(got) != 12 || got[9] != "letter 100" {
			t.Errorf("%d messages after the next run, want the three letters that came meanwhile too", len(got))
		}
	})
}

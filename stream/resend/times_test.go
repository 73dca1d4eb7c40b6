package resend_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/stream/resend"
	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// timed makes the topics of a world anew, by configurations.
func timed(t *testing.T, w *streamtest.World, events, dead map[string]string) {
	t.Helper()
	w.Topics.Events += "-timed"
	w.Topics.Dead += "-timed"
	if _, err := w.Client.CreateTopics(t.Context(),
		txn.TopicSpec{Name: w.Topics.Events, Partitions: 1, Replication: 1, Configs: events},
		txn.TopicSpec{Name: w.Topics.Dead, Partitions: 1, Replication: 1, Configs: dead}); err != nil {
		t.Fatal(err)
	}
}

// former takes the time out of the headers, as former builds wrote letters.
func former(r *txn.Record) {
	for i := range r.Headers {
		if r.Headers[i].Key == codec.HeaderTime {
			r.Headers = append(r.Headers[:i:i], r.Headers[i+1:]...)
			return
		}
	}
}

// A message that is sent again has its own time, though the letter has another: the stage replaces times that brokers
// refuse, and a broker that stamps records replaces all. Where the topic of the message does not take the time, or the
// letter does not know it, the outcome says so, and a header has the time as far as it is known.
func TestTheTimeOfTheMessageIsSentAgain(t *testing.T) {
	now := time.Now().Truncate(time.Millisecond)
	ahead, past, none := now.Add(30*24*time.Hour), now.Add(-time.Hour), time.Time{}
	anyTime := map[string]string{"message.timestamp.after.max.ms": strconv.FormatInt(math.MaxInt64, 10)}
	anHour := map[string]string{"message.timestamp.after.max.ms": "3600000"}
	stamps := map[string]string{"message.timestamp.type": "LogAppendTime"}
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		for _, c := range []struct {
			name         string
			events, dead map[string]string
			at           time.Time
			change       func(*txn.Record)
			want         resend.Outcome
		}{
			{"the stage replaced it", anyTime, anHour, ahead, nil, resend.Sent},
			{"the broker replaced it", anyTime, stamps, past, nil, resend.Sent},
			{"the broker replaced the time of now", anyTime, stamps, ahead, nil, resend.Sent},
			{"there was none", anyTime, anHour, none, nil, resend.Sent},
			{"the broker stamped the letter of a message without", anyTime, stamps, none, nil, resend.Sent},
			{"before 1970", anyTime, anHour, time.UnixMilli(-315619200000), nil, resend.Sent},
			{"its topic takes no such time", anHour, anHour, ahead, nil, resend.Retimed},
			{"its topic stamps messages", stamps, anHour, past, nil, resend.Retimed},
			{"a former build replaced it", anyTime, anHour, ahead, former, resend.Untimed},
			{"a former build kept it", anyTime, anHour, past, former, resend.Sent},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := streamtest.NewWorld(t, addr, 1)
				timed(t, w, c.events, c.dead)
				w.WriteLetters(&codec.MessageError{Reason: codec.ReasonFuture}, now, c.change,
					txn.Record{Value: []byte("x"), Time: c.at})
				told := map[resend.Outcome]int{}
				o := options(w, txn.NewClient(txn.Config{Brokers: w.Brokers}), told)
				defer o.Client.Close()
				run(t, o)
				got := w.Records(w.Topics.Events, 0)
				if len(got) != 1 || told[c.want] != 1 || len(told) != 1 {
					t.Fatalf("%d messages, told of %v, want %v", len(got), told, c.want)
				}
				h := ""
				for _, x := range got[0].Headers {
					if x.Key == codec.HeaderTime {
						h += string(x.Value)
					}
				}
				if want := txn.FormatMillis(c.at); c.want != resend.Untimed && h != want ||
					c.want == resend.Untimed && h != "" {
					t.Errorf("the header has time %q, want %s", h, want)
				}
				if c.want == resend.Sent && !got[0].Time.Equal(c.at) {
					t.Errorf("sent with time %v, want %v", got[0].Time, c.at)
				}
				if c.want != resend.Sent && got[0].Time.After(time.Now().Add(time.Minute)) {
					t.Errorf("sent with time %v", got[0].Time)
				}
			})
		}
	})
}

// A message that dies again, in a topic that has given it another time, is sent with its first time; one with a header
// of that name of its own keeps it.
func TestTheTimeOutlivesTwoReplays(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		w := streamtest.NewWorld(t, addr, 1)
		at, now := time.UnixMilli(5000), time.UnixMilli(20_000)
		own := txn.Header{Key: codec.HeaderTime, Value: []byte("77")}
		w.WriteLetters(&codec.MessageError{Reason: codec.ReasonFuture}, now, nil,
			txn.Record{Value: []byte("x"), Time: at, Headers: []txn.Header{own}})
		o := options(w, w.Client, map[resend.Outcome]int{})
		o.Most = 9
		for i := range 3 {
			run(t, o)
			got := w.Records(w.Topics.Events, 0)
			if len(got) != i+1 || !got[i].Time.Equal(at) {
				t.Fatalf("after replay %d: %d messages, the last of time %v", i+1, len(got), got[len(got)-1].Time)
			}
			var times []string
			for _, h := range got[i].Headers {
				if h.Key == codec.HeaderTime {
					times = append(times, string(h.Value))
				}
			}
			if strings.Join(times, " ") != "77 5000" {
				t.Errorf("after replay %d: times %q", i+1, times)
			}
			got[i].Time = now.Add(time.Duration(i) * time.Second) // it dies, as in a topic whose broker stamps
			w.WriteLetters(&codec.MessageError{Reason: codec.ReasonDamaged}, now.Add(time.Minute), nil, got[i])
		}
	})
}

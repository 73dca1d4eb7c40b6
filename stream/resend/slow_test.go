package resend

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// A transaction that takes longer than its timeout is sent again with more time, each message once.
func TestASlowConnectionGetsTheTimeItNeeds(t *testing.T) {
	streamtest.Brokers(t, func(t *testing.T, addr string) {
		streamtest.KeepsTimeouts(t)
		w := streamtest.NewWorld(t, addr, 1)
		noise := rand.NewChaCha8([32]byte{})
		var messages []txn.Record
		for i := range 3 {
			value := make([]byte, 700<<10)
			if _, err := noise.Read(value); err != nil {
				t.Fatal(err)
			}
			messages = append(messages, txn.Record{Value: value, Offset: int64(i), Time: time.UnixMilli(5000)})
		}
		w.WriteLetters(errors.New("by the test"), time.Now(), nil, messages...)
		slow := w.SlowClient(1<<20, func() bool { return true })
		began, sent := time.Now(), 0
		if err := Run(t.Context(), Options{Client: slow, Name: w.Name, Dead: w.Topics.Dead,
			Targets: map[string]int{w.Topics.Events: 1}, Patience: 20 * time.Second, Now: time.Now, timeout: time.Second,
			Each: func(_ *Letter, o Outcome) {
				if o == Sent {
					sent++
				}
			}}); err != nil {
			t.Fatal(err)
		}
		letters := map[string]int{}
		for _, r := range w.Records(w.Topics.Events, 0) {
			letters[string(r.Headers[1].Value)]++
		}
		for i := range 3 {
			if n := letters[fmt.Sprintf("%s/0/%d", w.Topics.Dead, i)]; n != 1 || sent != 3 {
				t.Errorf("letter %d was sent %d times, told of %d", i, n, sent)
			}
		}
		if took := time.Since(began); took < 2*time.Second {
			t.Errorf("it took %v: the connection is not slow", took)
		}
	})
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"liftstream/codec"
	"liftstream/model"
	"liftstream/stream/deadletter"
	"liftstream/stream/txn"
)

// letters writes n letters of messages that nobody can read into the dead-letter topic, as a stage does.
func (w *world) letters(n int) {
	w.t.Helper()
	d, err := codec.NewDecoder(w.stage.Codec)
	if err != nil {
		w.t.Fatal(err)
	}
	from := deadletter.Origin{Topic: w.config.Topics.Events, Stage: codec.StageEvents}
	var out []txn.Record
	for i := range n {
		r := &txn.Record{Value: fmt.Appendf(nil, "letter %d", i), Offset: int64(i), Time: time.UnixMilli(1_700_000_000_000)}
		deadletter.Make(d, r, from, nil, errors.New("by the test"), time.Now(), func(l deadletter.Letter) {
			l.Record.Topic = w.config.Topics.Dead
			out = append(out, l.Record)
		})
	}
	if err := w.client.Produce(w.t.Context(), out, txn.Lz4); err != nil {
		w.t.Fatal(err)
	}
}

// TestReplayOfLettersSurvivesKill kills 'dead replay' again and again: within a transaction, between two, and about the
// end of one. The last run sends the rest. No message is sent twice, none is left out, and nothing waits.
func TestReplayOfLettersSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT PROVED: 'dead replay' survives kill -9; run without -short")
	}
	const (
		n     = 20_000 // 40 transactions
		kills = 8
	)
	binary := buildBinary(t)
	worlds(t, "", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		w.letters(n)
		events := w.config.Topics.Events
		high := func() int64 {
			at, err := w.client.ListOffsets(t.Context(), events, []int{0}, txn.HighWatermark)
			if err != nil {
				t.Fatal(err)
			}
			return at[0]
		}
		// waiting counts the letters that wait.
		waiting := func() int {
			var list struct{ Counts []struct{ Letters int } }
			out := w.must("dead", "list", "-c", w.file, "--waiting", "--counts", "--format", "json").out
			if err := json.Unmarshal([]byte(out), &list); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			sum := 0
			for _, c := range list.Counts {
				sum += c.Letters
			}
			return sum
		}
		inside := 0
		for i := range uint64(kills) {
			before := high()
			cmd := exec.Command(binary, "dead", "replay", "-c", w.file)
			var out locked
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			at := before + 1 + int64(model.Hash(1, i)%1200)
			for high() < at {
				select {
				case err := <-ended:
					t.Fatalf("life %d ended by itself: %v\n%s", i, err, out.String())
				default:
				}
			}
			time.Sleep(time.Duration(model.Hash(2, i) % uint64(4*time.Millisecond)))
			_ = cmd.Process.Kill()
			<-ended
			if stable, err := w.client.ListOffsets(t.Context(), events, []int{0}, txn.End); err != nil || stable[0] < high() {
				inside++
			}
		}
		left := waiting()
		w.must("dead", "replay", "-c", w.file)
		if again := waiting(); left == 0 || left == n || again != 0 {
			t.Errorf("%d letters waited after the kills, and %d after the last run", left, again)
		}
		w.must("dead", "replay", "-c", w.file)
		sent := map[string]int{}
		for _, r := range w.records(events) {
			sent[string(r.Value)]++
		}
		for i := range n {
			if k := sent[fmt.Sprintf("letter %d", i)]; k != 1 {
				t.Fatalf("the message of letter %d was sent %d times", i, k)
			}
		}
		if len(sent) != n {
			t.Errorf("%d messages, want %d", len(sent), n)
		}
		t.Logf("%d times kill -9, %d of them within a transaction; %d of %d letters were left", kills, inside, left, n)
	})
}

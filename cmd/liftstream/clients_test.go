package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// librdkafka and pyarrow, as producer and as read-committed consumer, agree with this program on every record.
func TestPythonClient(t *testing.T) {
	name := os.Getenv("LIFTSTREAM_PYTHON")
	if name == "" {
		name = "python3"
	}
	python, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("NOT PROVED: that Python clients understand the topics; %s is missing", name)
	}
	if out, err := exec.Command(python, "-c", "import confluent_kafka, pyarrow").CombinedOutput(); err != nil {
		t.Skipf("NOT PROVED: that Python clients understand the topics; pip install -r "+
			"deploy/clients/python/requirements.txt\n%s", out)
	}
	worlds(t, "topics: {partitions: 3}", func(t *testing.T, w *world) {
		w.must("topics", "create", "-c", w.file)
		run := start(t, "run", "-c", w.file)
		client := exec.Command(python, "../../deploy/clients/python/roundtrip.py", "--brokers", w.address, "--events",
			w.config.Topics.Events, "--scores", w.config.Topics.Scores,
			"--id", "member", "--batch", "40", w.data)
		client.Env = append(os.Environ(), "PYTHONPATH=../../deploy/clients/python/src", "PYTHONDONTWRITEBYTECODE=1")
		out, err := client.Output()
		if err != nil {
			t.Fatalf("%v: %s\n%s", err, err.(*exec.ExitError).Stderr, run.err.String())
		}
		var x struct {
			Sent, Scored int
			Best         struct {
				ID         string
				Propensity float64
			}
		}
		if err := json.Unmarshal(out, &x); err != nil || x.Sent != 435 || x.Scored != 435 || x.Best.ID == "" ||
			!(x.Best.Propensity > 0.5) {
			t.Errorf("%s: %v", out, err)
		}
		// The same records by this program's producer lie in the same partitions, so that both may be used side by side.
		w.must("produce", "-c", w.file, w.data, "--batch", "40")
		homes := map[string]int{}
		for _, r := range w.records(w.config.Topics.Events) {
			for _, id := range column(t, r.Value, "member") {
				if home, known := homes[id]; known && home != r.Partition {
					t.Fatalf("member %s lies in partitions %d and %d", id, home, r.Partition)
				}
				homes[id] = r.Partition
			}
		}
		run.stop(t)
	})
}

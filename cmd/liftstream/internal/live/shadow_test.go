package live

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"liftstream/config"
)

// shadowed is a Shadow of shell commands, the first one for the first start and so on, the last one for all later ones.
func shadowed(t *testing.T, scripts ...string) (*Shadow, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	l := &Live{config: &config.Config{}, log: zap.New(core), metrics: prometheus.NewRegistry()}
	var n atomic.Int32
	s := l.NewShadow(func() *exec.Cmd {
		i := min(int(n.Add(1)), len(scripts)) - 1
		if scripts[i] == "" {
			return exec.Command("/no/such/program")
		}
		return exec.Command("/bin/sh", "-c", scripts[i])
	})
	s.Grace, s.Pause, s.Longest = time.Minute, time.Millisecond, 4*time.Millisecond
	return s, logs
}

// value is that of a gauge or a counter.
func value(m prometheus.Metric) float64 {
	var x dto.Metric
	if err := m.Write(&x); err != nil {
		panic(err)
	}
	return x.GetGauge().GetValue() + x.GetCounter().GetValue()
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// TestShadowStopsWithItsInput: a process that reads its input ends by itself when the stage ends.
func TestShadowStopsWithItsInput(t *testing.T) {
	s, logs := shadowed(t, "cat > /dev/null")
	stop := s.Start(t.Context())
	eventually(t, "the process", func() bool { return value(s.up) == 1 })
	stop()
	if value(s.up) != 0 || value(s.starts) != 1 ||
		logs.FilterLevelExact(zap.ErrorLevel).Len() != 0 {
		t.Errorf("up %v after %v starts, %v", value(s.up), value(s.starts), logs.All())
	}
}

// TestShadowIsStartedAgain: an error of the process, its death and its absence are logged, and it is started again.
func TestShadowIsStartedAgain(t *testing.T) {
	s, logs := shadowed(t, "exit 1", "", "kill -9 $$", "exit 0", "cat > /dev/null")
	stop := s.Start(t.Context())
	eventually(t, "the fifth process", func() bool {
		return value(s.starts) == 4 && value(s.up) == 1
	})
	stop()
	ended := logs.FilterMessageSnippet("the shadow has ended").All()
	if len(ended) != 4 {
		t.Fatalf("%d ends are logged: %v", len(ended), logs.All())
	}
	for i, want := range []string{"exit status 1", "no such file", "killed", "stopped by itself"} {
		if got, _ := ended[i].ContextMap()["error"].(string); !strings.Contains(got, want) {
			t.Errorf("end %d: %q, want %q", i, got, want)
		}
	}
}

// TestShadowThatDoesNotStop: it is ended by force.
func TestShadowThatDoesNotStop(t *testing.T) {
	s, _ := shadowed(t, "trap '' TERM; sleep 1000 & wait")
	s.Grace = time.Millisecond
	stop := s.Start(t.Context())
	eventually(t, "the process", func() bool { return value(s.up) == 1 })
	stop()
	if value(s.up) != 0 {
		t.Error("it runs")
	}
}

// TestUntilInputEnds: the context ends with the input, and with the one before.
func TestUntilInputEnds(t *testing.T) {
	in, out := io.Pipe()
	ctx := UntilInputEnds(context.Background(), in)
	if ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
	_ = out.Close()
	<-ctx.Done()
	before, cancel := context.WithCancel(context.Background())
	in, _ = io.Pipe()
	ctx = UntilInputEnds(before, in)
	cancel()
	<-ctx.Done()
}

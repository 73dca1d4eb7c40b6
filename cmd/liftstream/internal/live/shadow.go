package live

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// Shadow keeps a challenger running beside a stage, in a process of its own: its memory, its panics and its waiting
// cannot reach the stage. The process is told to stop by the end of its standard input, so it also ends when this
// process is killed.
type Shadow struct {
	// Command prepares the process, without its standard input; it is called for each start.
	Command func() *exec.Cmd
	Log     *zap.Logger
	Grace   time.Duration // from the end of its input to its end by force
	// Pause is the time before the second start, doubled with each further one up to Longest, and as before once a process
	// has run for Longest.
	Pause, Longest time.Duration

	up     prometheus.Gauge
	starts prometheus.Counter
}

// Pauses of a Shadow that lie between its starts.
const (
	shadowPause   = time.Second
	shadowLongest = 5 * time.Minute
)

// NewShadow prepares a Shadow and adds its metrics to those of the stage.
func (l *Live) NewShadow(command func() *exec.Cmd) *Shadow {
	s := &Shadow{Command: command, Log: l.log, Grace: l.config.Shutdown.Grace.Std(), Pause: shadowPause,
		Longest: shadowLongest}
	s.up = prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "liftstream", Name: "shadow_up",
		Help: "1 while the process of --shadow runs."})
	s.starts = prometheus.NewCounter(prometheus.CounterOpts{Namespace: "liftstream", Name: "shadow_starts_total",
		Help: "Starts of the process of --shadow: the second one says that it has ended by itself."})
	l.metrics.MustRegister(s.up, s.starts)
	return s
}

// Start runs the shadow beside the caller, and returns a function that ends it and waits for its end.
func (s *Shadow) Start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// Run starts the process, and again whenever it ends, until ctx ends; then it lets the process stop within Grace. An
// error of the process is logged and has no other effect.
func (s *Shadow) Run(ctx context.Context) {
	pause := s.Pause
	for ctx.Err() == nil {
		began := time.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= s.Longest {
			pause = s.Pause
		}
		s.Log.Error("the shadow has ended; the stage goes on without it, and it is started again", zap.Error(err),
			zap.Duration("in", pause))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, s.Longest)
	}
}

var errByItself = errors.New("it has stopped by itself")

// once runs the process until it ends or ctx does.
func (s *Shadow) once(ctx context.Context) error {
	cmd := s.Command()
	cmd.WaitDelay = time.Second // for its children, which may hold its output
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.starts.Inc()
	s.up.Set(1)
	defer s.up.Set(0)
	s.Log.Info("the shadow runs", zap.Int("process", cmd.Process.Pid))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			err = errByItself
		}
		return err
	case <-ctx.Done():
	}
	_ = input.Close()
	select {
	case err = <-ended:
	case <-time.After(s.Grace):
		_ = cmd.Process.Kill()
		err = <-ended
	}
	return err
}

// UntilInputEnds returns a context that ends with ctx, and with the standard input of a shadow: with the process that
// started it.
func UntilInputEnds(ctx context.Context, in io.Reader) context.Context {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, in)
	}()
	return ctx
}

// Yield lowers the priority of this process, a shadow, and lets Linux end it first where memory runs out. Systems that
// refuse, or that have no such files, leave it as it is.
func Yield() {
	const nice, sooner = 10, "500"
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(sooner), 0)
	// On Linux each thread has its priority; those to come take over that of the thread that starts them.
	threads, _ := filepath.Glob("/proc/self/task/*")
	for _, name := range threads {
		if id, err := strconv.Atoi(filepath.Base(name)); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, nice)
		}
	}
	if len(threads) == 0 {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice)
	}
}

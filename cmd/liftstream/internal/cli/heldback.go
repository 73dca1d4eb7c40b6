package cli

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// A log writes heldBackFirst lines of the same message in each heldBackWindow, and holds the others back. The first
// line of the message in a later window, or the end of the log, says how many they were.
const (
	heldBackFirst  = 50
	heldBackWindow = time.Minute
)

// heldBack is a core that bounds the lines of each message. The time of the entries is its clock.
type heldBack struct {
	zapcore.Core
	lines *heldLines // of all cores that With has made of one
}

// heldLines counts the lines of each message.
type heldLines struct {
	mu sync.Mutex
	by map[heldMessage]*heldWindow
}

type heldMessage struct {
	level zapcore.Level
	text  string
}

type heldWindow struct {
	began   time.Time
	written int
	held    int
}

func newHeldBack(core zapcore.Core) *heldBack {
	return &heldBack{core, &heldLines{by: map[heldMessage]*heldWindow{}}}
}

// With adds fields. The lines of the new core count with those of this one.
func (h *heldBack) With(fields []zapcore.Field) zapcore.Core {
	return &heldBack{h.Core.With(fields), h.lines}
}

// Check has Write decide.
func (h *heldBack) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if h.Enabled(e.Level) {
		return c.AddCore(e, h)
	}
	return c
}

// Write writes the line, or holds it back.
func (h *heldBack) Write(e zapcore.Entry, fields []zapcore.Field) error {
	held, ok := h.lines.take(e)
	if !ok {
		return nil
	}
	if held > 0 {
		fields = append(slices.Clip(fields), zap.Int("lines_held_back", held))
	}
	return h.Core.Write(e, fields)
}

// take counts a line. ok says whether it is written, held how many of its message were held back in the window before.
func (l *heldLines) take(e zapcore.Entry) (held int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := heldMessage{e.Level, e.Message}
	w := l.by[k]
	if w == nil {
		w = &heldWindow{began: e.Time}
		l.by[k] = w
	}
	if age := e.Time.Sub(w.began); age >= heldBackWindow || age < 0 {
		held = w.held
		*w = heldWindow{began: e.Time}
	}
	if w.written < heldBackFirst {
		w.written++
		return held, true
	}
	w.held++
	return 0, false
}

// Sync writes the counts of lines that no later line has told of.
func (h *heldBack) Sync() error {
	h.lines.mu.Lock()
	defer h.lines.mu.Unlock()
	for _, k := range slices.SortedFunc(maps.Keys(h.lines.by), func(a, b heldMessage) int {
		return int(h.lines.by[a].began.Sub(h.lines.by[b].began))
	}) {
		w := h.lines.by[k]
		if w.held == 0 {
			continue
		}
		e := zapcore.Entry{Level: k.level, Time: w.began.Add(heldBackWindow), Message: k.text}
		if err := h.Core.Write(e, []zapcore.Field{zap.Int("lines_held_back", w.held)}); err != nil {
			return err
		}
		w.held = 0
	}
	return h.Core.Sync()
}

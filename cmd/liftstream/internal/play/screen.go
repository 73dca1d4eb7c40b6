package play

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"liftstream/cmd/liftstream/internal/cli"
)

// screen shows a few lines: on a terminal in place of those before, else as one line, twice a second at most.
type screen struct {
	w     io.Writer
	fd    int // of the terminal; -1 = none
	every time.Duration
	shown int
	last  []string
}

func (s *run) newScreen() *screen {
	c := &screen{w: s.app.Err, fd: -1, every: time.Second}
	if s.app.Quiet {
		c.w = io.Discard
	}
	if f, ok := s.app.Err.(*os.File); ok && cli.OnTerminal(s.app.Err) && !s.app.Quiet {
		c.fd, c.every = int(f.Fd()), 250*time.Millisecond
	}
	return c
}

func (c *screen) show(lines []string) {
	if c.fd < 0 {
		if !slices.Equal(lines, c.last) {
			fmt.Fprintln(c.w, strings.Join(lines, "; "))
		}
		c.last = lines
		return
	}
	width, _, err := term.GetSize(c.fd)
	if err != nil || width < 20 {
		width = 80
	}
	var b strings.Builder
	if c.shown > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", c.shown)
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > width-1 {
			l = string([]rune(l)[:width-2]) + "…"
		}
		b.WriteString("\r\x1b[K" + l + "\n")
	}
	for range c.shown - len(lines) {
		b.WriteString("\r\x1b[K\n")
	}
	c.shown = max(c.shown, len(lines))
	_, _ = io.WriteString(c.w, b.String())
}

// end leaves the shown lines where they are.
func (c *screen) end() { c.shown = 0 }

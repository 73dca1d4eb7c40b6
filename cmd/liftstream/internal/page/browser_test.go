package page

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// In a real browser the page's own script runs under its content policy and polls, and nothing that a record says runs.
func TestPageInABrowser(t *testing.T) {
	var browser string
	for _, name := range []string{os.Getenv("LIFTSTREAM_BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("NOT PROVED: that the page works in a browser; install chromium or name one in LIFTSTREAM_BROWSER")
	}
	src := hostileSource(60)
	src.Notes = append(src.Notes, `<img src=x onerror="document.title='broken into'">`)
	s := server(t, src)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-background-networking", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=4000", "--enable-logging=stderr", "--dump-dom", s.URL+"/")
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", browser, err, log.String())
	}
	dom := string(out)
	if !regexp.MustCompile(`id="rate">[^<]+<`).MatchString(dom) {
		t.Errorf("the script has not polled:\n%.2000s", dom)
	}
	// The source is 7 messages behind.
	if !strings.Contains(dom, `id="rate">0 a second</span><span id="behind">7 messages to go</span>`) {
		t.Errorf("the page does not tell how far it is behind:\n%.2000s", dom)
	}
	if !strings.Contains(dom, "<title>liftstream: &lt;i&gt;name&lt;/i&gt;</title>") {
		t.Errorf("the title is not that of the page:\n%.500s", dom)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the console says %s", line)
		}
	}
}

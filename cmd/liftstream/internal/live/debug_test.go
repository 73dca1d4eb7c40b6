package live

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// TestDebugNeedsTheToken: profiles and the level of the log answer to the token alone, and to nobody where there is
// none. A wrong level changes nothing.
func TestDebugNeedsTheToken(t *testing.T) {
	for _, c := range []struct {
		name, token, given, method, path, body string
		form                                   bool
		want                                   int
		level                                  zapcore.Level
	}{
		{"no token is configured", "", "", "GET", "/debug/log", "", false, 403, zap.InfoLevel},
		{"no token is configured, to set", "", "x", "PUT", "/debug/log", `{"level":"debug"}`, false, 403, zap.InfoLevel},
		{"no token is configured, profiles", "", "", "GET", "/debug/pprof/", "", false, 403, zap.InfoLevel},
		{"none is given", "x", "", "GET", "/debug/pprof/goroutine", "", false, 401, zap.InfoLevel},
		{"a wrong one", "x", "y", "PUT", "/debug/log", `{"level":"debug"}`, false, 401, zap.InfoLevel},
		{"level", "x", "x", "GET", "/debug/log", "", false, 200, zap.InfoLevel},
		{"level set by JSON", "x", "x", "PUT", "/debug/log", `{"level":"debug"}`, false, 200, zap.DebugLevel},
		{"level set by a form", "x", "x", "PUT", "/debug/log", "level=error", true, 200, zap.ErrorLevel},
		{"no level", "x", "x", "PUT", "/debug/log", `{"level":"loud"}`, false, 400, zap.InfoLevel},
		{"no body", "x", "x", "PUT", "/debug/log", "", false, 400, zap.InfoLevel},
		{"a long body", "x", "x", "PUT", "/debug/log", `{"a":"` + strings.Repeat("a", 1<<20) + `"}`, false, 400,
			zap.InfoLevel},
		{"another method", "x", "x", "POST", "/debug/log", `{"level":"debug"}`, false, 405, zap.InfoLevel},
		{"profile", "x", "x", "GET", "/debug/pprof/goroutine?debug=1", "", false, 200, zap.InfoLevel},
		{"list", "x", "x", "GET", "/debug/pprof/", "", false, 200, zap.InfoLevel},
		{"elsewhere", "x", "x", "GET", "/debug/vars", "", false, 404, zap.InfoLevel},
	} {
		level, mux := zap.NewAtomicLevelAt(zap.InfoLevel), http.NewServeMux()
		core, lines := observer.New(level)
		debug(mux, c.token, level, zap.New(core))
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.form {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if c.given != "" {
			r.Header.Set("Authorization", "Bearer "+c.given)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != c.want || level.Level() != c.level {
			t.Errorf("%s: status %d and level %v, want %d and %v: %.200s", c.name, w.Code, level, c.want, c.level, w.Body)
		}
		if changed := c.level != zap.InfoLevel; changed != (lines.Len() == 1) {
			t.Errorf("%s: %d lines tell of it", c.name, lines.Len())
		}
	}
	mux := http.NewServeMux()
	debug(mux, "x", zap.AtomicLevel{}, zap.NewNop())
	r := httptest.NewRequest("GET", "/debug/log", nil)
	r.Header.Set("Authorization", "Bearer x")
	w := httptest.NewRecorder()
	if mux.ServeHTTP(w, r); w.Code != 404 {
		t.Errorf("a log without a level: status %d", w.Code)
	}
}

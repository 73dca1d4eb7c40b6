package live

import (
	"net/http"
	"net/http/pprof"

	"go.uber.org/zap"
)

// levelBytes bounds the body of a request that sets the level of the log.
const levelBytes = 1 << 10

// debug adds pages for the engineers of a running process to a mux:
//
//   - GET /debug/log answers the level of the log, as {"level":"info"}; PUT sets it, by the same JSON or by the form
//     level=debug. It holds until the process ends.
//   - GET /debug/pprof/ and below: the profiles of net/http/pprof. A profile of 60 s and more ends with the write
//     timeout.
//
// Profiles tell of the process, and cost time: all of it needs the token, and is refused with 403 where none is
// configured, from this machine too.
func debug(mux *http.ServeMux, token string, level zap.AtomicLevel, log *zap.Logger) {
	in := http.NewServeMux()
	in.HandleFunc("GET /debug/pprof/", pprof.Index)
	in.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	in.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	in.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	in.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	if level != (zap.AtomicLevel{}) {
		in.Handle("GET /debug/log", level)
		in.HandleFunc("PUT /debug/log", func(w http.ResponseWriter, r *http.Request) {
			before := level.Level()
			r.Body = http.MaxBytesReader(w, r.Body, levelBytes)
			level.ServeHTTP(w, r)
			if now := level.Level(); now != before {
				log.Log(max(now, zap.InfoLevel), "the level of the log was set by a request", zap.Stringer("before", before),
					zap.Stringer("now", now))
			}
		})
	}
	if token == "" {
		mux.HandleFunc("/debug/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "profiles and the level of the log need a token: set http.token", http.StatusForbidden)
		})
		return
	}
	mux.Handle("/debug/", guard(token, in))
}

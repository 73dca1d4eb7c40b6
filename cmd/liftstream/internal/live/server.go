package live

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/net/netutil"

	"liftstream/cmd/liftstream/internal/cli"
)

// Server is the operator's endpoint of a running stage.
type Server struct {
	http *http.Server
	addr string
	gone chan struct{}
}

// serve listens and serves in the background until Close. free says to take a free port when the one of listen is
// taken.
func serve(listen string, free bool, h http.Handler, log *zap.Logger) (*Server, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil && free {
		if host, _, split := net.SplitHostPort(listen); split == nil {
			l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
		}
	}
	if err != nil {
		return nil, cli.Environment(fmt.Errorf("listening for HTTP: %w; http.listen, or --listen of 'demo', names another "+
			"address", err))
	}
	l = netutil.LimitListener(l, connections)
	s := &Server{addr: l.Addr().String(), gone: make(chan struct{})}
	s.http = &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 60 * time.Second,
		IdleTimeout:  30 * time.Second, MaxHeaderBytes: 1 << 16, ErrorLog: zap.NewStdLog(log)}
	go func() {
		defer close(s.gone)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the page is gone", zap.Error(err))
		}
	}()
	return s, nil
}

// Addr is the host and port at which it listens.
func (s *Server) Addr() string { return s.addr }

// Close lets requests under way end, for a second.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.gone
}

// guard lets requests pass that carry the token, as "Authorization: Bearer TOKEN" or, for browsers, as the password of
// basic authentication under any user name. Probes need none. An empty token lets all pass.
func guard(token string, h http.Handler) http.Handler {
	if token == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer {
			_, given, _ = r.BasicAuth()
		}
		if !isProbe(r) && subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			w.Header().Add("WWW-Authenticate", `Basic realm="liftstream", charset="UTF-8"`)
			w.Header().Add("WWW-Authenticate", "Bearer")
			http.Error(w, "the token of http.token is needed", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

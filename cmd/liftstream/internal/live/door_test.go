package live

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"
)

func TestDoorKnowsItsHosts(t *testing.T) {
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") })
	for _, c := range []struct {
		name, listen string
		hosts        []string
		host, path   string
		want         int
	}{
		{"itself", "127.0.0.1:8080", nil, "127.0.0.1:8080", "/", http.StatusOK},
		{"itself by name", "127.0.0.1:8080", nil, "localhost:8080", "/", http.StatusOK},
		{"itself by a name in capitals with a dot", "127.0.0.1:8080", nil, "LocalHost.:8080", "/", http.StatusOK},
		{"another loopback address", "127.0.0.1:8080", nil, "[::1]:8080", "/", http.StatusOK},
		{"a forwarded port", "127.0.0.1:8080", nil, "localhost:9999", "/", http.StatusOK},
		{"a name pointed here", "127.0.0.1:8080", nil, "evil.example:8080", "/api/live", http.StatusMisdirectedRequest},
		{"without port", "127.0.0.1:8080", nil, "evil.example", "/metrics", http.StatusMisdirectedRequest},
		{"probes too", "127.0.0.1:8080", nil, "evil.example", "/readyz", http.StatusMisdirectedRequest},
		{"a name that begins alike", "127.0.0.1:8080", nil, "localhost.evil.example", "/", http.StatusMisdirectedRequest},
		{"a name of digits", "127.0.0.1:8080", nil, "127.0.0.1.evil.example", "/", http.StatusMisdirectedRequest},
		{"another address", "127.0.0.1:8080", nil, "192.0.2.1:8080", "/", http.StatusMisdirectedRequest},
		{"no host", "127.0.0.1:8080", nil, "", "/", http.StatusMisdirectedRequest},
		{"an old probe", "127.0.0.1:8080", nil, "", "/healthz", http.StatusOK},
		{"a listed name", "127.0.0.1:8080", []string{"scores.example.com"}, "scores.example.com", "/", http.StatusOK},
		{"a name beside it", "127.0.0.1:8080", []string{"scores.example.com"}, "x.example.com", "/", 421},
		{"the name that listens", "scores.example.com:80", nil, "scores.example.com", "/", http.StatusOK},
		{"the address that listens", "192.0.2.1:80", nil, "192.0.2.1", "/", http.StatusOK},
		{"any address of the machine", "0.0.0.0:80", nil, "192.0.2.1", "/", http.StatusOK},
		{"any address, and a name", "0.0.0.0:80", nil, "evil.example", "/", http.StatusMisdirectedRequest},
		{"any address, given as none", ":80", nil, "evil.example", "/", http.StatusMisdirectedRequest},
		{"any address of version 6", "[::]:80", nil, "[2001:db8::1]:80", "/", http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		door(c.listen, c.hosts, inside).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.want)
		}
		for _, h := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options",
			"Cache-Control", "Cross-Origin-Resource-Policy"} {
			if w.Header().Get(h) == "" {
				t.Errorf("%s: no header %s", c.name, h)
			}
		}
	}
}

// More connections than the bound wait until others end.
func TestConnectionsAreBounded(t *testing.T) {
	s, err := serve("127.0.0.1:0", false, http.NotFoundHandler(), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var open []net.Conn
	for range connections {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	late, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if _, err := io.WriteString(late, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answered := func(within time.Duration) bool {
		_ = late.SetReadDeadline(time.Now().Add(within))
		n, _ := late.Read(make([]byte, 1))
		return n > 0
	}
	if answered(300 * time.Millisecond) {
		t.Error("it is answered at once")
	}
	for _, c := range open {
		_ = c.Close()
	}
	if !answered(20 * time.Second) {
		t.Error("it is not answered when the others have gone")
	}
}

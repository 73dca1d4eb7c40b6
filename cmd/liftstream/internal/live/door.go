package live

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// connections bounds the open connections of the endpoint. Others wait, as in a full queue of the system.
const connections = 256

// door checks the host of each request and puts the headers on each answer that keep browsers from reading it into
// other pages. A page of another site can point its own name to this machine (DNS rebinding): its requests then carry
// that name.
func door(listen string, hosts []string, h http.Handler) http.Handler {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		host = listen
	}
	names := append([]string{"localhost"}, hosts...)
	ip := net.ParseIP(host)
	any := host == "" || ip != nil && ip.IsUnspecified()
	if !any {
		names = append(names, host)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if !calls(r, names, any) {
			http.Error(w, "this host is not one of the endpoint's: http.hosts lists more", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// calls reports whether a request names the endpoint by a host that is its own. Addresses cannot be pointed elsewhere,
// so one that listens on all addresses of the machine takes each. Old probes name no host; browsers always do.
func calls(r *http.Request, names []string, any bool) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	if host == "" {
		return isProbe(r)
	}
	if ip := net.ParseIP(host); ip != nil {
		return any || ip.IsLoopback() || slices.ContainsFunc(names, func(n string) bool { return ip.Equal(net.ParseIP(n)) })
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) })
}

// isProbe reports whether a request asks for health alone: such requests need no token, and may name no host.
func isProbe(r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/v2/health/live", "/v2/health/ready":
		return true
	}
	return false
}

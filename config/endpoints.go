package config

import (
	"net"
	"strconv"
	"strings"
)

// checkHTTP reports an endpoint that other machines reach without a token: the page shows ids and values of people.
func (d checker) checkHTTP(h *HTTP) {
	const path = "http.listen"
	d.address(path, h.Listen, "127.0.0.1:8080", true)
	if !d.bad[path] && h.Token == "" && !d.given("http.token") && !Loopback(h.Listen) {
		d.report(path, "", "%s is %s, which other machines reach: give http.token a secret, best as ${NAME}, or listen on "+
			"127.0.0.1", path, d.quote(path, h.Listen))
	}
	for i, host := range h.Hosts {
		p := elementPath("http.hosts", i)
		if host == "" || strings.ContainsAny(host, " /@*") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
			d.report(p, "", "%s must be the name of a host without a port, such as scores.example.com, not %s", p,
				d.quote(p, host))
		}
	}
	d.unique("http.hosts", h.Hosts)
}

// Loopback reports whether an address host:port is reached from this machine alone.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// address reports a text other than host:port. A listener may leave the host out and ask for any port.
func (d checker) address(path, a, example string, listener bool) {
	if d.bad[path] {
		return
	}
	host, port, err := net.SplitHostPort(a)
	n, bad := strconv.ParseUint(port, 10, 16)
	if err == nil && bad == nil && (listener || host != "" && n > 0) && !strings.ContainsAny(host, " /\t\n") {
		return
	}
	d.report(path, "", "%s must be host:port such as %s, not %s", path, example, d.quote(path, a))
}

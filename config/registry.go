package config

import (
	"net/url"
	"strings"
)

// Registry is the schema registry of the house, one that speaks the REST interface of Confluent's. It needs URL; it may
// ask for a name and a password, or for a token.
type Registry struct {
	// URL is its address, such as https://registry:8081.
	URL string `yaml:"url"`
	// Username is the name of the account. Default none; with Password.
	Username string `yaml:"username,omitempty"`
	// Password is its secret, best given as ${NAME}.
	Password Secret `yaml:"password,omitempty"`
	// Token is a bearer token in place of the account, best given as ${NAME}. Default none.
	Token Secret `yaml:"token,omitempty"`
	// CA is the file of the authorities to trust, in PEM. Default none: the system's.
	CA string `yaml:"ca,omitempty"`
}

// checkAddress holds the address at a path against the form of those of HTTP. A name and a password have keys of their
// own: an address is shown in errors and in the log, and so is this one, without its password.
func checkAddress(d checker, path, example, text string) {
	u, err := url.Parse(text)
	if d.bad[path] || err == nil && u.Host != "" && u.User == nil &&
		(strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")) {
		return
	}
	if err == nil {
		text = u.Redacted()
	}
	d.report(path, "", "%s must be an address such as %s, without name and password, not %s", path, example,
		d.quote(path, text))
}

// checkRegistry holds the registry against itself, and the formats that need it against it.
func checkRegistry(d checker, c *Config) {
	const path = "registry"
	r := c.Registry
	if r == nil {
		if c.Input.Format == InputAvro {
			d.report("input.format", "", "input.format: avro needs registry.url, where the schemas of the messages are")
		}
		return
	}
	d.require(path+".url", "the address of the registry", r.URL != "")
	if r.URL != "" {
		checkAddress(d, path+".url", "https://registry:8081", r.URL)
	}
	if r.Token != "" && r.Username != "" {
		d.report(path+".token", "", "%s.token and %s.username are given: one of them is enough", path, path)
	}
	if d.given(path+".username") != d.given(path+".password") {
		d.report(path, "", "%s.username and %s.password are given together or not at all", path, path)
	}
}

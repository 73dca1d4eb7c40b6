package txn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// SASL makes the mechanism of that name: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. password is asked at each connection,
// so that one that is changed meanwhile needs no new Client.
func SASL(mechanism, username string, password func() (string, error)) (sasl.Mechanism, error) {
	a := &account{name: strings.ToUpper(mechanism), username: username, password: password}
	if _, err := a.mechanism("x"); err != nil {
		return nil, err
	}
	if _, err := password(); err != nil {
		return nil, err
	}
	return a, nil
}

// Password is a password that never changes.
func Password(text string) func() (string, error) {
	return func() (string, error) { return text, nil }
}

// PasswordFile is a password that is the content of a file, without line ends at its end.
func PasswordFile(name string) func() (string, error) {
	return func() (string, error) {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("reading the password: %w", err)
		}
		p := strings.TrimRight(string(text), "\r\n")
		if p == "" {
			return "", fmt.Errorf("reading the password: %s is empty", name)
		}
		return p, nil
	}
}

// account is a mechanism with the password of the moment.
type account struct {
	name, username string
	password       func() (string, error)
}

func (a *account) Name() string { return a.name }

func (a *account) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	p, err := a.password()
	if err != nil {
		return nil, nil, &renewError{err}
	}
	m, err := a.mechanism(p)
	if err != nil {
		return nil, nil, &renewError{err}
	}
	return m.Start(ctx)
}

func (a *account) mechanism(password string) (sasl.Mechanism, error) {
	switch a.name {
	case "PLAIN":
		return plain.Mechanism{Username: a.username, Password: password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, a.username, password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, a.username, password)
	}
	return nil, fmt.Errorf("no SASL mechanism %q: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 exist", a.name)
}

// renewError is returned at a connection when files of TLS or of the password cannot be read any more, as while they
// are being replaced.
type renewError struct{ err error }

func (e *renewError) Error() string { return e.err.Error() }
func (e *renewError) Unwrap() error { return e.err }

// TLS names PEM files: CA is trusted in place of the system's authorities, Cert and Key are shown to the broker. Each
// may be empty; Cert and Key only together. They are read at each connection, so that certificates that are changed
// meanwhile need no new Client.
type TLS struct{ CA, Cert, Key string }

// LoadTLS returns the files if they can be read now.
func LoadTLS(ca, cert, key string) (*TLS, error) {
	t := &TLS{ca, cert, key}
	_, err := t.config("")
	return t, err
}

// config reads the files for a connection to a broker of that name.
func (t *TLS) config(server string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: server}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("reading the authorities to trust: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading the authorities to trust: no certificate in %s", t.CA)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, errors.New("a client certificate needs its key, and a key its certificate")
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// secure agrees on TLS over a connection to address, which it closes when that fails.
func (t *TLS) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	cfg, err := t.config(host)
	if err != nil {
		_ = conn.Close()
		return nil, &renewError{err}
	}
	c := tls.Client(conn, cfg)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// Check connects to the brokers one after another until one works, and else returns the failure of the one that
// got furthest: nobody listens (Environment), TLS (Handshake), user, password or mechanism (Credentials), or not a
// Kafka broker (Invalid). Other requests tell these apart badly: with a wrong password a client is told that the broker
// is not available.
func (c *Client) Check(ctx context.Context) error {
	if len(c.cfg.Brokers) == 0 {
		return &Error{Op: "Connect", Kind: Invalid, Reason: "kafka.brokers is empty", Err: errNoBrokers}
	}
	var furthest error
	stage := -1
	for _, address := range c.cfg.Brokers {
		at, err := c.cfg.probe(ctx, address)
		if err == nil {
			return nil
		}
		if at > stage {
			stage, furthest = at, err
		}
	}
	return furthest
}

// probe goes through the layers of one connection and tells at which one it failed.
func (c *Config) probe(ctx context.Context, address string) (stage int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := c.Dial(ctx, "tcp", address)
	if err != nil {
		return 0, &Error{Op: "Connect", Kind: Environment, Reason: "no broker answers at " + address, Err: err}
	}
	defer func() { _ = conn.Close() }()
	if c.TLS != nil {
		secure, err := c.TLS.secure(ctx, conn, address)
		if renew := (*renewError)(nil); errors.As(err, &renew) {
			return 1, failed("Connect", err)
		}
		if err != nil {
			reason := "TLS with " + address + " failed"
			if header := (tls.RecordHeaderError{}); errors.As(err, &header) || errors.Is(err, io.EOF) {
				reason = address + " does not speak TLS"
			}
			return 1, &Error{Op: "Connect", Kind: Handshake, Reason: reason, Err: err}
		}
		conn = secure
	}
	established := conn
	dialer := &kafka.Dialer{
		ClientID: c.ClientID, Timeout: c.Timeout, SASLMechanism: c.SASL,
		DialFunc: func(context.Context, string, string) (net.Conn, error) { return established, nil },
	}
	k, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		defer func() { _ = k.Close() }()
		_, err = k.ApiVersions()
	}
	if err == nil {
		// A broker that wants a password answers ApiVersions to anybody: only a further request tells.
		_, err = k.Brokers()
	}
	if err == nil {
		return 0, nil
	}
	e := failed("Connect", err)
	switch renew := (*renewError)(nil); {
	case errors.As(err, &renew):
		return 3, e
	case e.Kind == Credentials:
		e.Reason = address + " refuses user, password or mechanism"
		return 3, e
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind, e.Reason = Handshake, address+" ends the conversation: it expects TLS or a password, or is no Kafka broker"
		return 2, e
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		e.Kind, e.Reason = Environment, address+" breaks the connection off, as a broker does that stops"
		return 2, e
	case e.Code == 0 && ctx.Err() == nil:
		e.Kind, e.Reason = Invalid, address+" does not answer as a Kafka broker does"
		return 2, e
	}
	return 2, e
}

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

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// SASL makes the mechanism of that name: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
func SASL(mechanism, username, password string) (sasl.Mechanism, error) {
	switch strings.ToUpper(mechanism) {
	case "PLAIN":
		return plain.Mechanism{Username: username, Password: password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, username, password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, username, password)
	}
	return nil, fmt.Errorf("no SASL mechanism %q: PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 exist", mechanism)
}

// LoadTLS makes a TLS configuration of PEM files: ca is trusted in place of the system's authorities, cert and key are shown to the broker.
// Each may be empty; cert and key only together.
func LoadTLS(ca, cert, key string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("reading the authorities to trust: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading the authorities to trust: no certificate in %s", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("a client certificate needs its key, and a key its certificate")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// Check connects to the brokers one after another until one works, and else says what is wrong with the one that got furthest: nobody listens
// (Environment), TLS (Handshake), user, password or mechanism (Credentials), or not a Kafka broker (Invalid). Other requests tell these apart
// badly: with a wrong password a client is told that the broker is not available.
func (c *Client) Check(ctx context.Context) error {
	if len(c.cfg.Brokers) == 0 {
		return &Error{Op: "Connect", Kind: Invalid, Reason: "kafka.brokers is empty", Err: errNoBrokers}
	}
	var furthest error
	stage := -1
	for _, address := range c.cfg.Brokers {
		at, err := c.probe(ctx, address)
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
func (c *Client) probe(ctx context.Context, address string) (stage int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	conn, err := c.cfg.Dial(ctx, "tcp", address)
	if err != nil {
		return 0, &Error{Op: "Connect", Kind: Environment, Reason: "no broker answers at " + address, Err: err}
	}
	defer func() { _ = conn.Close() }()
	if c.cfg.TLS != nil {
		cfg := c.cfg.TLS.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(address)
		}
		secure := tls.Client(conn, cfg)
		if err := secure.HandshakeContext(ctx); err != nil {
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
		ClientID: c.cfg.ClientID, Timeout: c.cfg.Timeout, SASLMechanism: c.cfg.SASL,
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
	switch {
	case e.Kind == Credentials:
		e.Reason = address + " refuses user, password or mechanism"
		return 3, e
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind, e.Reason = Handshake, address+" ends the conversation: it expects TLS or a password, or is no Kafka broker"
		return 2, e
	case e.Code == 0 && ctx.Err() == nil:
		e.Kind, e.Reason = Invalid, address+" does not answer as a Kafka broker does"
		return 2, e
	}
	return 2, e
}

package txn

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
)

// cuts is a dialer whose connections can all be ended.
type cuts struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cuts) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		c.mu.Lock()
		c.conns = append(c.conns, conn)
		c.mu.Unlock()
	}
	return conn, err
}

func (c *cuts) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// works waits until a request is answered: cut connections are noticed by the first requests over them.
func works(t *testing.T, c *Client) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, err = c.CreateTopics(testContext(t), TopicSpec{Name: unique("topic"), Partitions: 1,
			Replication: 1}); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func mustWrite(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNewCertificatesNeedNoNewClient: authorities, the client's certificate and its key are those of the files at each
// connection.
func TestNewCertificatesNeedNoNewClient(t *testing.T) {
	type side struct {
		ca   string
		pair tls.Certificate
	}
	fresh := func() side { ca, pair := selfSigned(t); return side{ca, pair} }
	var demands atomic.Pointer[tls.Config] // certificates that the broker shows and trusts
	demand := func(broker, client side) {
		pem, err := os.ReadFile(client.ca)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		demands.Store(
			&tls.Config{
				Certificates:           []tls.Certificate{broker.pair},
				ClientAuth:             tls.RequireAndVerifyClientCert,
				ClientCAs:              pool,
				SessionTicketsDisabled: true,
			},
		)
	}
	dir := t.TempDir()
	ca, cert, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	give := func(broker, client side) {
		text, err := os.ReadFile(broker.ca)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, ca, text)
		mustWrite(t, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: client.pair.Certificate[0]}))
		der, err := x509.MarshalPKCS8PrivateKey(client.pair.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	broker, client := fresh(), fresh()
	demand(broker, client)
	give(broker, client)
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.TLS(
			&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return demands.Load(), nil }},
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	files, err := LoadTLS(ca, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	var network cuts
	c := NewClient(Config{Brokers: cluster.ListenAddrs(), TLS: files, Dial: network.dial, Timeout: 2 * time.Second})
	defer c.Close()
	works(t, c)
	topic, group := mustTopic(t, c, 1, nil), unique("group")
	member(t, c, group, topic)

	newClient := fresh()
	demand(broker, newClient)
	network.cut()
	if err := c.Check(testContext(t)); err == nil {
		t.Fatal("the broker takes the old certificate: nothing is tested")
	}
	give(broker, newClient)
	if err := c.Check(testContext(t)); err != nil {
		t.Fatalf("a new client certificate: %v", err)
	}
	works(t, c)
	member(t, c, unique("group"), topic)

	newBroker := fresh()
	demand(newBroker, newClient)
	network.cut()
	mustKind(t, "an authority that is not known yet", c.Check(testContext(t)), Handshake)
	give(newBroker, newClient)
	works(t, c)
	member(t, c, unique("group"), topic)

	mustWrite(t, cert, nil)
	mustKind(t, "a certificate that is being written", c.Check(testContext(t)), Environment)
}

// TestNewPasswordNeedsNoNewClient: on kfake, and on Kafka where there is one.
func TestNewPasswordNeedsNoNewClient(t *testing.T) {
	ca, certificate := selfSigned(t)
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.EnableSASL(),
		kfake.Superuser("SCRAM-SHA-512", "user", "secret"),
		kfake.TLS(&tls.Config{Certificates: []tls.Certificate{certificate}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	brokers := []securedBroker{{"kfake", cluster.ListenAddrs()[0], ca, "user", "secret"}}
	if addr := os.Getenv("LIFTSTREAM_KAFKA_SASL"); addr != "" {
		brokers = append(
			brokers,
			securedBroker{
				"kafka",
				addr,
				os.Getenv("LIFTSTREAM_KAFKA_CA"),
				os.Getenv("LIFTSTREAM_KAFKA_USER"),
				os.Getenv("LIFTSTREAM_KAFKA_PASS"),
			},
		)
	} else {
		t.Run("kafka", func(t *testing.T) {
			t.Skip("NOT PROVED ON A REAL BROKER: set LIFTSTREAM_KAFKA_SASL, as by: eval \"$(deploy/kafka.sh env DIR)\"")
		})
	}
	for _, b := range brokers {
		t.Run(b.name, func(t *testing.T) {
			files, err := LoadTLS(b.ca, "", "")
			if err != nil {
				t.Fatal(err)
			}
			admin := Config{Brokers: strings.Split(b.addr, ","), TLS: files}
			if admin.SASL, err = SASL("SCRAM-SHA-512", b.user, Password(b.pass)); err != nil {
				t.Fatal(err)
			}
			a := NewClient(admin)
			defer a.Close()
			user, file := unique("user"), filepath.Join(t.TempDir(), "password")
			password := func(text string) {
				t.Helper()
				r, err := a.kafka.AlterUserScramCredentials(
					testContext(t),
					&kafka.AlterUserScramCredentialsRequest{Upsertions: []kafka.UserScramCredentialsUpsertion{
						scrammed(t, user, text)}},
				)
				if err != nil || r.Results[0].Error != nil {
					t.Fatal(err, r)
				}
			}
			password("first")
			mustWrite(t, file, []byte("first\n"))
			var network cuts
			cfg := Config{Brokers: strings.Split(b.addr, ","), TLS: files, Dial: network.dial, Timeout: 3 * time.Second}
			if cfg.SASL, err = SASL("SCRAM-SHA-512", user, PasswordFile(file)); err != nil {
				t.Fatal(err)
			}
			c := NewClient(cfg)
			defer c.Close()
			works(t, c)
			password("second")
			network.cut()
			for deadline := time.Now().Add(20 * time.Second); c.Check(testContext(t)) == nil; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) { // brokers learn of it a moment later
					t.Fatal("the broker takes the old password: nothing is tested")
				}
			}
			mustKind(t, "the old password", c.Check(testContext(t)), Credentials)
			mustWrite(t, file, []byte("second\r\n"))
			if err := c.Check(testContext(t)); err != nil {
				t.Fatal(err)
			}
			works(t, c)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			mustKind(t, "a file that is being replaced", c.Check(testContext(t)), Environment)
		})
	}
}

// scrammed is a password as brokers keep it (RFC 5802, SaltedPassword).
func scrammed(t *testing.T, user, password string) kafka.UserScramCredentialsUpsertion {
	t.Helper()
	salt := []byte("of no worth " + user)
	salted, err := pbkdf2.Key(sha512.New, password, salt, 4096, sha512.Size)
	if err != nil {
		t.Fatal(err)
	}
	return kafka.UserScramCredentialsUpsertion{
		Name:           user,
		Mechanism:      kafka.ScramMechanismSha512,
		Iterations:     4096,
		Salt:           salt,
		SaltedPassword: salted,
	}
}

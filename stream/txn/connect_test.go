package txn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// securedBroker is a broker that wants TLS and a password.
type securedBroker struct{ name, addr, ca, user, pass string }

// TestCheckSecured: everything that can be wrong with a secured connection is told apart.
func TestCheckSecured(t *testing.T) {
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
	strangers, _ := selfSigned(t)
	for _, b := range brokers {
		t.Run(b.name, func(t *testing.T) {
			for _, test := range []struct {
				name, ca, mechanism, user, pass string
				kind                            Kind
				says                            string
			}{
				{"all right", b.ca, "SCRAM-SHA-512", b.user, b.pass, 0, ""},
				{"wrong password", b.ca, "SCRAM-SHA-512", b.user, "wrong", Credentials, "refuses user, password or mechanism"},
				{"wrong user", b.ca, "SCRAM-SHA-512", "nobody", b.pass, Credentials, "refuses user, password or mechanism"},
				{"wrong mechanism", b.ca, "PLAIN", b.user, b.pass, Credentials, "refuses user, password or mechanism"},
				{"no password", b.ca, "", "", "", Handshake, "expects TLS or a password"},
				{"unknown authority", strangers, "SCRAM-SHA-512", b.user, b.pass, Handshake, "TLS with"},
				{"no TLS", "-", "SCRAM-SHA-512", b.user, b.pass, Handshake, "expects TLS"},
			} {
				cfg := Config{Brokers: strings.Split(b.addr, ","), Timeout: 3 * time.Second}
				if test.ca != "-" {
					var err error
					if cfg.TLS, err = LoadTLS(test.ca, "", ""); err != nil {
						t.Fatal(err)
					}
				}
				if test.mechanism != "" {
					var err error
					if cfg.SASL, err = SASL(test.mechanism, test.user, Password(test.pass)); err != nil {
						t.Fatal(err)
					}
				}
				c := NewClient(cfg)
				err := c.Check(testContext(t))
				c.Close()
				if KindOf(err) != test.kind {
					t.Errorf("%s: got %v (kind %v), want kind %v", test.name, err, KindOf(err), test.kind)
				} else if err != nil && !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s: %q does not say %q", test.name, err, test.says)
				}
			}
			// And everything else works over it.
			cfg := Config{Brokers: strings.Split(b.addr, ",")}
			var err error
			if cfg.TLS, err = LoadTLS(b.ca, "", ""); err == nil {
				cfg.SASL, err = SASL("scram-sha-512", b.user, Password(b.pass))
			}
			if err != nil {
				t.Fatal(err)
			}
			c := NewClient(cfg)
			defer c.Close()
			topic, group := mustTopic(t, c, 1, nil), unique("group")
			gen := member(t, c, group, topic)
			p := mustProducer(t, c, unique("id"))
			err = p.Commit(
				testContext(t),
				Transaction{
					Records:    []Record{record(topic, 0, "a")},
					Group:      group,
					Member:     gen.Member,
					Generation: gen.ID,
					Offsets:    map[string]map[int]int64{topic: {0: 1}},
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			mustEqual(t, "records", values(read(t, c, topic, 0, 0)), []string{"a"})
		})
	}
}

func TestCheckAbsent(t *testing.T) {
	for _, test := range []struct {
		name, addr, says string
		kind             Kind
	}{
		{"nobody listens", closedPort(t), "no broker answers at", Environment},
		{"no such host", "no-such-host.invalid:9092", "no broker answers at", Environment},
		{"not Kafka", echo(t), "", Invalid},
	} {
		c := NewClient(Config{Brokers: []string{test.addr}, Timeout: 2 * time.Second})
		err := c.Check(testContext(t))
		if KindOf(err) != test.kind || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v (kind %v), want kind %v and %q", test.name, err, KindOf(err), test.kind, test.says)
		}
		c.Close()
	}
	mustKind(t, "no address", NewClient(Config{}).Check(testContext(t)), Invalid)
	c := NewClient(Config{Brokers: []string{closedPort(t)}, Timeout: 300 * time.Millisecond})
	defer c.Close()
	_, err := c.NewProducer(testContext(t), "id", time.Second)
	mustKind(t, "a producer without a broker", err, Environment)
}

// echo listens and sends each message back.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return l.Addr().String()
}

func selfSigned(t *testing.T) (ca string, certificate tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(
			1,
		), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return ca, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestLoadTLSRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range [][3]string{{"missing.pem", "", ""}, {empty, "", ""}, {"", empty, ""}, {"", "", empty},
		{"", empty, empty}} {
		if _, err := LoadTLS(test[0], test[1], test[2]); err == nil {
			t.Errorf("%v: accepted", test)
		}
	}
	if _, err := SASL("GSSAPI", "u", Password("p")); err == nil {
		t.Error("GSSAPI: accepted")
	}
}

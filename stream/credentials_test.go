package stream

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"liftstream/stream/streamtest"
	"liftstream/stream/txn"
)

// TestStageGoesOnWithANewPassword: the password of its account is changed, all connections end, the file changes a
// moment later, and nothing is lost, doubled or restarted.
func TestStageGoesOnWithANewPassword(t *testing.T) {
	plain, addr := os.Getenv("LIFTSTREAM_KAFKA"), os.Getenv("LIFTSTREAM_KAFKA_SASL")
	if plain == "" || addr == "" {
		t.Skip(
			"NOT RUN ON A REAL KAFKA: set LIFTSTREAM_KAFKA and LIFTSTREAM_KAFKA_SASL, " +
				"as by: eval \"$(deploy/kafka.sh env DIR)\"",
		)
	}
	w := newWorld(t, plain, 2)
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	password := func(text string) {
		t.Helper()
		u := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
		u.Name, u.Mechanism, u.Iterations, u.Salt = w.Name, 2, 4096, []byte("of no worth")
		var err error
		if u.SaltedPassword, err = pbkdf2.Key(sha512.New, text, u.Salt, int(u.Iterations), sha512.Size); err != nil {
			t.Fatal(err)
		}
		req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		req.Upsertions = append(req.Upsertions, u)
		w.admin(req)
	}
	password("first")
	write("first")
	files, err := txn.LoadTLS(os.Getenv("LIFTSTREAM_KAFKA_CA"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	m := &streamtest.Mortal{}
	cfg := txn.Config{Brokers: strings.Split(addr, ","), TLS: files, Dial: m.Dial, ClientID: w.Name}
	if cfg.SASL, err = txn.SASL("SCRAM-SHA-512", w.Name, txn.PasswordFile(file)); err != nil {
		t.Fatal(err)
	}
	c := txn.NewClient(cfg)
	defer c.Close()
	o := w.options(c)
	w.Produce(1000, 20, true)
	r := w.run(o)
	w.caught(r)
	password("second")
	// Brokers learn of it a moment later.
	streamtest.Eventually(t, 20*time.Second, "the broker takes the old password: nothing is tested", func() bool {
		return txn.KindOf(c.Check(t.Context())) == txn.Credentials
	})
	m.Cut()
	w.Produce(1000, 20, true)
	r.await(t, "the stage does without its connections", func(s Status) bool { return !s.Ready })
	time.Sleep(time.Second) // the file comes later than the change
	write("second")
	w.caught(r)
	w.ExactlyOnce()
	r.end(t)
}

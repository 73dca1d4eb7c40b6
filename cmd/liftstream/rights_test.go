package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"liftstream/cmd/liftstream/internal/cli"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// aRight is one thing that a cluster grants to one account.
type aRight struct {
	resource kmsg.ACLResourceType
	name     string
	prefixed bool
	allowed  kmsg.ACLOperation
	word     string
}

// rightsOf reads a section of the output of 'topics describe --acls'.
func rightsOf(t *testing.T, text, section string) (out []aRight) {
	t.Helper()
	operations := map[string]kmsg.ACLOperation{"Read": kmsg.ACLOperationRead, "Write": kmsg.ACLOperationWrite,
		"Describe": kmsg.ACLOperationDescribe,
		"Create":   kmsg.ACLOperationCreate, "DescribeConfigs": kmsg.ACLOperationDescribeConfigs}
	kinds := map[string]kmsg.ACLResourceType{"--topic": kmsg.ACLResourceTypeTopic, "--group": kmsg.ACLResourceTypeGroup,
		"--transactional-id": kmsg.ACLResourceTypeTransactionalId}
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			in = line == "# "+section
			continue
		}
		if !in {
			continue
		}
		words := strings.Fields(line)
		var r aRight
		var ops []string
		for i := range words {
			switch w := words[i]; {
			case w == "--operation":
				ops = append(ops, words[i+1])
			case kinds[w] != 0:
				r.resource, r.name = kinds[w], words[i+1]
			case w == "prefixed":
				r.prefixed = true
			}
		}
		for _, o := range ops {
			r.allowed, r.word = operations[o], o
			if r.allowed == 0 {
				t.Fatalf("operation %s in %q", o, line)
			}
			out = append(out, r)
		}
	}
	return out
}

// ask sends the broker a request that no command makes.
func (w *world) ask(req kmsg.Request) {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	var size [4]byte
	if _, err = conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)); err == nil {
		_, err = io.ReadFull(conn, size[:])
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if err == nil {
		_, err = io.ReadFull(conn, body)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if res, ok := req.ResponseKind().(*kmsg.CreateACLsResponse); ok {
		if err := res.ReadFrom(body[4:]); err != nil {
			w.t.Fatal(err)
		}
		for _, r := range res.Results {
			if r.ErrorCode != 0 {
				w.t.Fatalf("granting: error %d %v", r.ErrorCode, r.ErrorMessage)
			}
		}
	}
}

func (r aRight) pattern() kmsg.ACLResourcePatternType {
	if r.prefixed {
		return kmsg.ACLResourcePatternTypePrefixed
	}
	return kmsg.ACLResourcePatternTypeLiteral
}

func (w *world) grant(user string, rights []aRight) {
	w.t.Helper()
	req := kmsg.NewPtrCreateACLsRequest()
	req.Version = 1
	for _, r := range rights {
		c := kmsg.NewCreateACLsRequestCreation()
		c.ResourceType, c.ResourceName, c.ResourcePatternType = r.resource, r.name, r.pattern()
		c.Principal, c.Host, c.Operation, c.PermissionType = "User:"+user, "*", r.allowed, kmsg.ACLPermissionTypeAllow
		req.Creations = append(req.Creations, c)
	}
	w.ask(req)
}

func (w *world) revoke(user string, r aRight) {
	w.t.Helper()
	principal := "User:" + user
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourceName, f.ResourcePatternType = r.resource, &r.name, r.pattern()
	f.Principal, f.Operation, f.PermissionType = &principal, r.allowed, kmsg.ACLPermissionTypeAllow
	req := kmsg.NewPtrDeleteACLsRequest()
	req.Version = 1
	req.Filters = append(req.Filters, f)
	w.ask(req)
}

// TestRightsThatAreListedAreEnoughAndEachIsNamed runs a stage over TLS with SCRAM on a broker that grants only the
// rights that 'topics describe --acls' lists, then without one right after another.
func TestRightsThatAreListedAreEnoughAndEachIsNamed(t *testing.T) {
	plain, secured, ca := os.Getenv("LIFTSTREAM_KAFKA"), os.Getenv("LIFTSTREAM_KAFKA_SASL"),
		os.Getenv("LIFTSTREAM_KAFKA_CA")
	user, pass := os.Getenv("LIFTSTREAM_KAFKA_USER"), os.Getenv("LIFTSTREAM_KAFKA_PASS")
	if os.Getenv("LIFTSTREAM_KAFKA_AUTHORIZER") == "" || secured == "" {
		t.Skip("RIGHTS ARE NOT PROVED: start a broker with the authorizer on, as deploy/kafka.sh says, and set " +
			"LIFTSTREAM_KAFKA_AUTHORIZER=1")
	}
	plain, _, _ = strings.Cut(plain, ",")
	w := newWorldAt(t, plain, fmt.Sprintf("rights-%d", time.Now().UnixNano()), "")
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data, "--batch", "20")
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	config := strings.Replace(string(text), fmt.Sprintf("kafka: {brokers: [%q]}", plain),
		fmt.Sprintf("kafka: {brokers: [%q], tls: {ca: %q}, sasl: {mechanism: SCRAM-SHA-512, username: %s, password: %s}}",
			secured, ca, user, pass), 1)
	if err := os.WriteFile(w.file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	rights := rightsOf(t, w.must("topics", "describe", "-c", w.file, "--acls").out, "run")
	if len(rights) < 12 {
		t.Fatalf("%d rights are listed", len(rights))
	}
	w.grant(user, rights)
	run := start(t, "run", "-c", w.file)
	w.await(435)
	if status := run.stop(t); status != cli.StatusDone {
		t.Fatalf("with the rights that are listed: status %d\n%s", status, run.err.String())
	}
	w.must("bootstrap", "-c", w.file, w.data, "--replace", w.config.Name)
	for _, r := range rights {
		implied := false // Kafka grants Describe with Read and with Write
		for _, other := range rights {
			implied = implied || r.word == "Describe" && other.word != "Describe" && other.resource == r.resource &&
				other.name == r.name
		}
		if implied {
			continue
		}
		t.Run(strings.ToLower(r.word)+" "+strings.TrimPrefix(r.name, w.config.Name), func(t *testing.T) {
			w.revoke(user, r)
			defer w.grant(user, []aRight{r})
			b := start(t, "run", "-c", w.file)
			w.produceMore()
			name := r.name
			eventually(t, "a word about the right "+r.word+" on "+name, func() bool {
				if name == w.config.Topics.Model { // it is written when a model has been fitted and compared
					w.produceMore()
				}
				log := b.err.String()
				return strings.Contains(log, "right "+r.word) && strings.Contains(log, name)
			})
			b.cancel()
		})
	}
}

// TestRightsOfDeadAndResumeAreEnough runs these commands, and those of model, with the rights of their sections alone.
func TestRightsOfDeadAndResumeAreEnough(t *testing.T) {
	plain, secured, ca := os.Getenv("LIFTSTREAM_KAFKA"), os.Getenv("LIFTSTREAM_KAFKA_SASL"),
		os.Getenv("LIFTSTREAM_KAFKA_CA")
	user, pass := os.Getenv("LIFTSTREAM_KAFKA_USER"), os.Getenv("LIFTSTREAM_KAFKA_PASS")
	if os.Getenv("LIFTSTREAM_KAFKA_AUTHORIZER") == "" || secured == "" {
		t.Skip("RIGHTS ARE NOT PROVED: start a broker with the authorizer on, as deploy/kafka.sh says, and set " +
			"LIFTSTREAM_KAFKA_AUTHORIZER=1")
	}
	plain, _, _ = strings.Cut(plain, ",")
	w := newWorldAt(t, plain, fmt.Sprintf("deadrights-%d", time.Now().UnixNano()), "labels: {window: 1h}")
	w.must("topics", "create", "-c", w.file)
	w.must("produce", "-c", w.file, w.data)
	w.produce([]byte("bad"), 0)
	run := start(t, "run", "-c", w.file)
	w.await(435)
	eventually(t, "a letter", func() bool { return len(w.records(w.config.Topics.Dead)) == 1 })
	run.stop(t)
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "secured.yaml")
	secure := strings.Replace(string(text), fmt.Sprintf("kafka: {brokers: [%q]}", plain),
		fmt.Sprintf("kafka: {brokers: [%q], tls: {ca: %q}, sasl: {mechanism: SCRAM-SHA-512, username: %s, password: %s}}",
			secured, ca, user, pass), 1)
	if err := os.WriteFile(file, []byte(secure), 0o644); err != nil {
		t.Fatal(err)
	}
	listed := w.must("topics", "describe", "-c", file, "--acls").out
	dead, resume, models := rightsOf(t, listed, "dead"), rightsOf(t, listed, "resume"), rightsOf(t, listed, "model")
	w.grant(user, dead)
	if out := w.must("dead", "list", "-c", file).out; !strings.Contains(out, "waits") {
		t.Errorf("list\n%s", out)
	}
	w.must("dead", "show", "-c", file, "0/0")
	w.must("dead", "replay", "-c", file)
	// A transaction that is committed may become readable a moment later.
	eventually(t, "the message again", func() bool { return len(w.records(w.config.Topics.Events)) == 3 })
	for _, r := range dead {
		w.revoke(user, r)
	}
	w.grant(user, resume)
	w.must("resume", "-c", file, "--all")
	for _, r := range resume {
		w.revoke(user, r)
	}
	w.grant(user, models)
	w.must("model", "freeze", "-c", file)
	if out := w.must("model", "list", "-c", file).out; !strings.Contains(out, "freeze") {
		t.Errorf("listed\n%s", out)
	}
	for _, r := range models {
		w.revoke(user, r)
	}
	if r := command(t, "dead", "replay", "-c", file); r.status != cli.StatusInput {
		t.Errorf("without rights: status %d, %s", r.status, r.err)
	}
}

// produceMore sends one more good message, and a bad one, past the account's rights.
func (w *world) produceMore() {
	w.produce(w.records(w.config.Topics.Events)[0].Value, 0)
	w.produce([]byte("bad"), 0)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"liftstream/stream/topics"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"liftstream/config"
	"liftstream/stream"
	"liftstream/stream/embedded"
	"liftstream/stream/txn"
)

// cluster is a connection to the brokers of a configuration, and their embedded broker where this process runs it.
type cluster struct {
	*txn.Client
	broker  *ownBroker // nil = somebody else's
	heir    *heir      // takes over somebody else's embedded broker; nil = none
	address string     // of the brokers, for people
	// instance is the client id when it is this process's alone, else "".
	instance string
}

func (k *cluster) close() {
	k.Client.Close()
	if k.heir != nil {
		k.heir.close()
	}
	if k.broker != nil {
		k.broker.close()
	}
}

// connect reaches the brokers of a configuration, or starts the embedded one unless another process has its directory
// already: then that one's broker is used, and taken over when that process ends. It fails with what is wrong and the
// remedy when the brokers do not answer.
func (a *app) connect(ctx context.Context, c *config.Config) (*cluster, error) {
	k, err := a.cluster(c)
	if err != nil {
		return nil, err
	}
	if err := k.Check(ctx); err != nil {
		k.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, unreachable(err, c)
	}
	return k, nil
}

// cluster is connect without a word to the brokers.
func (a *app) cluster(c *config.Config) (*cluster, error) {
	k := &cluster{}
	cfg := txn.Config{Brokers: c.Kafka.Brokers, ClientID: "liftstream-" + c.Name}
	if a.instance != "" {
		cfg.ClientID += "-" + a.instance
		k.instance = cfg.ClientID
	}
	if c.Kafka.Embedded != nil {
		own, address, err := openBroker(embedded.Options{Dir: c.Kafka.Embedded.Dir})
		if err != nil {
			return nil, err
		}
		if k.broker = own; own == nil {
			k.heir = inherit(c.Kafka.Embedded.Dir)
		}
		cfg.Brokers = []string{address}
	} else {
		if err := secure(&cfg, &c.Kafka); err != nil {
			return nil, err
		}
	}
	k.address = strings.Join(cfg.Brokers, ", ")
	k.Client = txn.NewClient(cfg)
	return k, nil
}

// secure adds TLS and the account of a configuration.
func secure(cfg *txn.Config, k *config.Kafka) error {
	var err error
	if t := k.TLS; t != nil {
		if cfg.TLS, err = txn.LoadTLS(t.CA, t.Cert, t.Key); err != nil {
			return fmt.Errorf("kafka.tls: %w", err)
		}
	}
	if s := k.SASL; s != nil {
		password := txn.Password(s.Password.Reveal())
		if s.PasswordFile != "" {
			password = txn.PasswordFile(s.PasswordFile)
		}
		if cfg.SASL, err = txn.SASL(string(s.Mechanism), s.Username, password); err != nil {
			return fmt.Errorf("kafka.sasl: %w", err)
		}
	}
	return nil
}

// unreachable says what to do about brokers that could not be reached. All of it is the environment's: what is wrong
// may be on either side, and a supervisor should try again.
func unreachable(err error, c *config.Config) error {
	remedy := "see kafka.brokers in the configuration"
	switch txn.KindOf(err) {
	case txn.Environment:
		remedy = "start the broker, or correct kafka.brokers; 'liftstream broker --dir DIR' starts one for development, and kafka: {embedded: {dir: DIR}} one inside every command"
	case txn.Handshake:
		remedy = "compare kafka.tls with the listener: an encrypted one needs the section, with ca for its own authority"
	case txn.Credentials:
		remedy = "check mechanism, username and password in kafka.sasl"
		if c.Kafka.SASL == nil {
			remedy = "the listener asks for an account: give it in kafka.sasl"
		}
	}
	return environment(fmt.Errorf("connecting to the brokers: %w; %s", err, remedy))
}

// explain adds the remedy to an error of a request, and says whose it is: rights, topics and sizes are the
// configuration's, the rest the environment's.
func explain(err error, file string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, late := err.(*stream.StopError); late {
		return environment(err)
	}
	switch txn.KindOf(err) {
	case txn.NoTopic:
		return fmt.Errorf("%w; 'liftstream topics create -c %s' makes the topics", err, file)
	case txn.Denied:
		return fmt.Errorf("%w; 'liftstream topics describe -c %s --acls' lists the rights that are needed", err, file)
	case txn.TooLarge:
		return fmt.Errorf("%w; 'liftstream topics describe -c %s' shows the limits of the topics", err, file)
	case 0, txn.Invalid:
		return err
	}
	return environment(err)
}

// brokerFile is the file in the directory of an embedded broker that is locked while the broker runs and holds its
// address, so that other commands find it. The next broker listens there again if it can.
const brokerFile = "liftstream-broker"

// ownBroker is an embedded broker of this process.
type ownBroker struct {
	*embedded.Broker
	lock *os.File
}

func (b *ownBroker) close() {
	b.Close()
	_ = b.lock.Close()
}

// openBroker starts an embedded broker, or, when another process runs one on the same directory, returns nil and the
// address of that one.
func openBroker(o embedded.Options) (own *ownBroker, address string, err error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, "", environment(fmt.Errorf("starting the embedded broker: %w", err))
	}
	name := filepath.Join(o.Dir, brokerFile)
	// The other one may have locked and not yet written its address, or be ending.
	for range 50 {
		lock, err := lockFile(name)
		if err != nil {
			return nil, "", environment(fmt.Errorf("starting the embedded broker: %w", err))
		}
		if lock != nil {
			own, err := startBroker(o, lock)
			if err != nil {
				return nil, "", environment(err)
			}
			return own, own.Addr(), nil
		}
		if at := addressIn(name); at != "" {
			return nil, at, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, "", environment(fmt.Errorf("starting the embedded broker: another process keeps %s locked and does not say where it listens", name))
}

// lockFile opens and locks a file; nil without an error when another process has locked it.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, err
}

// addressIn reads the address that a broker has written; "" while there is none.
func addressIn(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	at, whole := strings.CutSuffix(string(text), "\n")
	if !whole {
		return ""
	}
	return at
}

// startBroker starts a broker whose directory is locked by lock, which it then owns: where the one before listened,
// unless o says where or that address is taken.
func startBroker(o embedded.Options, lock *os.File) (*ownBroker, error) {
	before := addressIn(lock.Name())
	if err := lock.Truncate(0); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	var b *embedded.Broker
	var err error
	if o.Listen == "" && before != "" {
		again := o
		again.Listen = before
		b, err = embedded.Start(again)
	}
	if b == nil {
		b, err = embedded.Start(o)
	}
	if err == nil {
		if _, err = lock.WriteAt([]byte(b.Addr()+"\n"), 0); err != nil {
			b.Close()
		}
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &ownBroker{b, lock}, nil
}

// heir waits for the end of the process that runs an embedded broker, and then runs it in its place and at its address:
// a stage outlives the short command that happened to start the broker.
type heir struct {
	stop, stopped chan struct{}
	broker        *ownBroker // written before stopped is closed
}

func inherit(dir string) *heir {
	h := &heir{stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(h.stopped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for h.broker == nil {
			select {
			case <-h.stop:
				return
			case <-tick.C:
			}
			lock, err := lockFile(filepath.Join(dir, brokerFile))
			if err != nil || lock == nil {
				continue
			}
			// A failure leaves the file to the next attempt, and the clients to their patience.
			h.broker, _ = startBroker(embedded.Options{Dir: dir}, lock)
		}
	}()
	return h
}

func (h *heir) close() {
	close(h.stop)
	<-h.stopped
	if h.broker != nil {
		h.broker.close()
	}
}

// topicsOf names the topics of a configuration.
func topicsOf(c *config.Config) topics.Names {
	t := &c.Topics
	return topics.Names{Events: t.Events, Scores: t.Scores, Labels: t.Labels, State: t.State, Model: t.Model, Dead: t.Dead}
}

// specsOf are the topics of a configuration as they must be. Scores are larger than the events that they answer, so the
// topics take four times the largest message that is read.
func specsOf(c *config.Config) []txn.TopicSpec {
	return topics.Specs(topicsOf(c), c.Topics.Partitions, c.Topics.Replication, 4*int64(c.Memory.Message))
}

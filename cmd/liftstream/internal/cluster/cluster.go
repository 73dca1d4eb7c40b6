// Package cluster is the connection of a command to the brokers of a configuration: with an embedded broker where the
// configuration has one, with errors that name the remedy, and with the reading, writing and checking of topics that
// several commands share. Begin at Connect.
package cluster

import (
	"context"
	"fmt"
	"strings"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/config"
	"liftstream/stream/embedded"
	"liftstream/stream/topics"
	"liftstream/stream/txn"
)

// Cluster is a connection to the brokers of a configuration, and their embedded broker where this process runs it.
type Cluster struct {
	*txn.Client
	Address string // of the brokers, for people
	// Instance is the client id when it names this process alone, else "".
	Instance string

	shared *embedded.Shared // nil = the brokers are not embedded
}

// Own reports whether this process runs the embedded broker of the configuration.
func (k *Cluster) Own() bool { return k.shared != nil && k.shared.Own() }

// Close ends the connection, and the embedded broker where this process runs it.
func (k *Cluster) Close() {
	k.Client.Close()
	if k.shared != nil {
		k.shared.Close()
	}
}

// Connect reaches the brokers of a configuration, or starts the embedded one unless another process has its directory
// already: then it uses the broker of that process, and takes it over when that process ends. It fails with the fault
// and the remedy when the brokers do not answer.
func Connect(ctx context.Context, c *config.Config) (*Cluster, error) {
	k, err := Open(c, "")
	if err != nil {
		return nil, err
	}
	if err := k.Check(ctx); err != nil {
		k.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, Unreachable(err, c)
	}
	return k, nil
}

// With reads a configuration, reaches its brokers, and calls f with both. The connection ends with the call.
func With(ctx context.Context, a *cli.App, file string, f func(k *Cluster, c *config.Config) error) error {
	c, err := a.Load(file)
	if err != nil {
		return err
	}
	k, err := Connect(ctx, c)
	if err != nil {
		return err
	}
	defer k.Close()
	return f(k, c)
}

// Open is Connect without a word to the brokers. instance names this process among the processes of its group; "" = it
// has no name of its own.
func Open(c *config.Config, instance string) (*Cluster, error) {
	cfg, err := settings(c, instance)
	if err != nil {
		return nil, err
	}
	k := &Cluster{}
	if instance != "" {
		k.Instance = cfg.ClientID
	}
	if c.Kafka.Embedded != nil {
		if k.shared, err = embedded.Share(embedded.Options{Dir: c.Kafka.Embedded.Dir}); err != nil {
			return nil, cli.Environment(err)
		}
		k.shared.Succeed()
		cfg.Brokers = []string{k.shared.Addr()}
	}
	k.Address = strings.Join(cfg.Brokers, ", ")
	k.Client = txn.NewClient(cfg)
	return k, nil
}

// settings are those of the client; the address of an embedded broker comes later.
func settings(c *config.Config, instance string) (txn.Config, error) {
	cfg := txn.Config{Brokers: c.Kafka.Brokers, ClientID: "liftstream-" + c.Name, ExpandBytes: int64(c.Memory.Batch)}
	if instance != "" {
		cfg.ClientID += "-" + instance
	}
	if c.Kafka.Embedded != nil {
		return cfg, nil
	}
	err := secure(&cfg, &c.Kafka)
	return cfg, err
}

// secure adds TLS and the account of a configuration.
func secure(cfg *txn.Config, k *config.Kafka) error {
	var err error
	if t := k.TLS; t != nil {
		if cfg.TLS, err = txn.LoadTLS(t.CA, t.Cert, t.Key); err != nil {
			return fmt.Errorf("kafka.tls: %w", err)
		}
	}
	if s := k.SASL; s != nil && s.OAuth != nil {
		o := s.OAuth
		if cfg.SASL, err = txn.SASLOAuth(txn.OAuth{File: o.TokenFile, URL: o.TokenURL, Client: o.ClientID,
			Secret: o.ClientSecret.Reveal(), Scopes: o.Scopes, CA: o.CA}); err != nil {
			return fmt.Errorf("kafka.sasl.oauth: %w", err)
		}
	} else if s != nil {
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

// Topics names the topics of a configuration.
func Topics(c *config.Config) topics.Names {
	t := &c.Topics
	return topics.Names{Events: t.Events, Scores: t.Scores, Labels: t.Labels, State: t.State, Model: t.Model,
		Dead: t.Dead}
}

// Specs are the settings that the topics of a configuration must have. Scores are larger than the events that they
// answer, so the topics take four times the largest message that is read.
func Specs(c *config.Config) []txn.TopicSpec {
	return topics.Specs(Topics(c), c.Topics.Partitions, c.Topics.Replication, 4*int64(c.Memory.Message))
}

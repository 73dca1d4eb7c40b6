package cluster

import (
	"context"
	"errors"
	"fmt"

	"liftstream/cmd/liftstream/internal/cli"
	"liftstream/config"
	"liftstream/stream"
	"liftstream/stream/txn"
)

// Unreachable adds the remedy to an error of reaching the brokers. It is an error of the environment: the fault may be
// on either side, and a supervisor should try again.
func Unreachable(err error, c *config.Config) error {
	remedy := "see kafka.brokers in the configuration"
	switch txn.KindOf(err) {
	case txn.Environment:
		remedy = "start the broker, or correct kafka.brokers; 'liftstream broker --dir DIR' starts one for development, " +
			"and kafka: {embedded: {dir: DIR}} one inside every command"
	case txn.Handshake:
		remedy = "compare kafka.tls with the listener: an encrypted one needs the section, with ca for its own authority"
	case txn.Credentials:
		remedy = "check mechanism, username and password in kafka.sasl"
		if c.Kafka.SASL == nil {
			remedy = "the listener asks for an account: give it in kafka.sasl"
		}
	}
	return cli.Environment(fmt.Errorf("connecting to the brokers: %w; %s", err, remedy))
}

// Explain adds the remedy to an error of a request, and says whose it is: rights, topics and sizes are the
// configuration's, the rest the environment's.
func Explain(err error, file string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, late := err.(*stream.StopError); late {
		return cli.Environment(err)
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
	return cli.Environment(err)
}

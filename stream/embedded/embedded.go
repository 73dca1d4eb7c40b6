// Package embedded is a Kafka broker inside the process, on disk: for the demo, for development and for tests.
//
// It is no broker for production. It is twmb/franz-go's kfake, which implements the protocol faithfully enough for
// every client tried, but it is one node without replication, it was made to test clients, and it is kinder than a real
// broker: it never says CONCURRENT_TRANSACTIONS after a commit, its group offsets are never stale, its coordinators are
// always up, it has no verification of transactions that fails, and it answers a zombie with another error. Properties
// of a broker are proved on Apache Kafka, never on this one alone.
//
// Begin at Start.
package embedded

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
)

// DefaultMaxMessage is the greatest record batch that is taken unless Options says otherwise.
const DefaultMaxMessage = 64 << 20

// Options of a Broker. The zero value is an in-memory broker on a free port.
type Options struct {
	// Dir keeps topics, groups and transactions; it is made when missing, and other accounts cannot read it. Empty =
	// in memory, for tests; everything is then held twice or more and gone at the end. A directory serves one broker at a
	// time.
	Dir string
	// Listen is host:port; port 0 = any free one. Empty = 127.0.0.1:0. Hosts other than the loopback are refused unless
	// Insecure: there is neither encryption nor a password.
	Listen   string
	Insecure bool
	// Advertise is the host that clients are told to connect to; empty = the host of Listen, which must then not be a
	// wildcard.
	Advertise string
	// MaxMessage is the greatest record batch in bytes; 0 = DefaultMaxMessage. Topics may set a lower max.message.bytes.
	MaxMessage int
	// SyncWrites forces every batch to the disk before it is acknowledged. Without it acknowledged records survive the
	// end of the process, however sudden, but not that of the machine.
	SyncWrites bool
	// AutoCreate lets clients create topics by asking for them. Off, a misspelt topic is an error, as it ought to be.
	AutoCreate bool
}

// Broker is a running broker.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
	dir     string
	disk    *disk // nil = in memory
}

// Start opens or creates the directory, listens and serves in the background until Close.
func Start(o Options) (*Broker, error) {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	if !o.Insecure && !loopback(host) {
		return nil, fmt.Errorf(
			"starting the embedded broker: %s is not a loopback address, and the broker has neither encryption nor a password",
			o.Listen,
		)
	}
	advertise := o.Advertise
	if advertise == "" {
		if advertise = host; wildcard(host) {
			return nil, fmt.Errorf(
				"starting the embedded broker: clients cannot connect to %s: tell the host to advertise",
				o.Listen,
			)
		}
	}
	if o.Dir != "" {
		if err := private(o.Dir); err != nil {
			return nil, fmt.Errorf("starting the embedded broker: %w", err)
		}
	}
	killed, err := wasKilled(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	if killed {
		// On a port of its own first: nobody may write before the repair is done.
		b, err := start(o, "127.0.0.1:0", "127.0.0.1")
		if err == nil {
			err = repair(b.addr)
			b.cluster.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("repairing the topics of an embedded broker that was killed: %w", err)
		}
	}
	return start(o, o.Listen, advertise)
}

func start(o Options, listen, advertise string) (*Broker, error) {
	var listening net.Addr
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.ClusterID("liftstream-embedded"),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": strconv.Itoa(o.MaxMessage)}),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			l, err := net.Listen(network, listen)
			if err != nil {
				return nil, err
			}
			listening = advertised{host: advertise, port: l.Addr().(*net.TCPAddr).Port}
			return listener{l, listening}, nil
		}),
	}
	var d *disk
	if o.Dir != "" {
		d = newDisk(o.Dir)
		opts = append(opts, kfake.DataDir(o.Dir), kfake.WithLogger(d))
	}
	if o.SyncWrites {
		opts = append(opts, kfake.SyncWrites())
	}
	if o.AutoCreate {
		opts = append(opts, kfake.AllowAutoTopicCreation())
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, fmt.Errorf("starting the embedded broker: %w", err)
	}
	if listening == nil {
		cluster.Close()
		return nil, errors.New("starting the embedded broker: it does not listen")
	}
	if d != nil {
		d.guard(cluster)
	}
	return &Broker{cluster: cluster, addr: listening.String(), dir: o.Dir, disk: d}, nil
}

// Addr is host:port for clients.
func (b *Broker) Addr() string { return b.addr }

// Compact compacts compacted topics now; by itself it is done every hour.
func (b *Broker) Compact() { b.cluster.Compact() }

// Close stops serving and writes its memory to the directory.
func (b *Broker) Close() {
	b.cluster.Close()
	if b.dir != "" {
		_ = os.WriteFile(filepath.Join(b.dir, cleanFile), nil, 0o600) // without it the next start only takes longer
	}
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func wildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// listener lets the broker tell its clients another address than the one that it listens on.
type listener struct {
	net.Listener
	addr net.Addr
}

func (l listener) Addr() net.Addr { return l.addr }

type advertised struct {
	host string
	port int
}

func (advertised) Network() string  { return "tcp" }
func (a advertised) String() string { return net.JoinHostPort(a.host, strconv.Itoa(a.port)) }

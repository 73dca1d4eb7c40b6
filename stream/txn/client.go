// Package txn is the transaction protocol of Kafka, alone: whole transactions of records and group offsets,
// read-committed fetching, and the few requests around them that a partition's task and the commands need. It is built
// on the protocol layer of kafka-go, whose own Writer and Reader take no part in transactions, and it is the only
// package, beside the embedded broker, that knows that client.
//
// One Client serves a process. Its methods may overlap; a Producer belongs to one goroutine at a time. Every error is
// an *Error, and its Kind names the remedy.
//
// The rules behind Producer, each seen on a real broker:
//
//   - The requests of one transaction go out strictly one after another.
//   - Codes 51 and 19 mean the same step again with the same sequence; anything else ends the use of the producer until
//     Recover.
//   - After a request without an answer only InitProducerID makes sure that it cannot take effect later; only then is
//     the group's offset worth reading.
//   - Offsets are sent with generation and member always: without them the broker takes them from anybody.
//
// Begin at Client.NewProducer and Producer.Commit, which write, and at Client.Fetch and Client.Read. errors.go gives
// each error its Kind, on which retries depend.
package txn

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/sasl"
)

const (
	// DefaultTimeout bounds one request, answer included.
	DefaultTimeout = 10 * time.Second
	// DefaultBatchBytes is the limit of one record batch before compression: below the 1,048,588 bytes that brokers take
	// by default.
	DefaultBatchBytes = 1_000_000

	// metadata is refreshed by time only, never by an error, so this is how long a moved leader goes unnoticed
	metadataTTL = 2 * time.Second
	// kafka-go reads through 4 KB; this buffer under it almost doubles the speed of fetching
	readBufferBytes = 256 << 10
)

// Config tells where the cluster is and how to reach it.
type Config struct {
	Brokers  []string       // bootstrap addresses, host:port
	TLS      *TLS           // nil = plain text; see LoadTLS
	SASL     sasl.Mechanism // nil = no authentication; see SASL
	ClientID string         // told to the brokers, shown by ConsumerGroup.Describe

	// Timeout bounds one request with its answer; 0 = DefaultTimeout. Fetch adds its waiting time.
	Timeout time.Duration
	// BatchBytes is the limit of one record batch before compression; 0 = DefaultBatchBytes. Topics that take less have
	// smaller ones, see LearnLimits. More records make more batches. One record above the limit travels alone, and the
	// topic's max.message.bytes decides.
	BatchBytes int
	// ExpandBytes is the limit of one fetched batch, and of its records decompressed; 0 = DefaultExpandBytes. All batches
	// that are being decompressed at a time take no more together: others wait. A single large batch takes its packed
	// bytes beside.
	ExpandBytes int64
	// Dial opens connections, without TLS; nil = net.Dialer. Tests put faults here.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is a connection pool to one cluster. Make it with NewClient and Close it at the end.
type Client struct {
	cfg       Config
	addr      net.Addr
	transport *kafka.Transport
	kafka     *kafka.Client
	expand    *expander
	ratios    sync.Map // by topicPartition: bytes of records for each fetched byte, at the last Fetch

	limits limits

	idempotent sync.Mutex // serialises Produce
	producer   *session   // of Produce; nil before its first use and after an error
}

// NewClient makes a Client; it connects when it is used. cfg.Brokers must not be empty.
func NewClient(cfg Config) *Client {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.BatchBytes <= 0 {
		cfg.BatchBytes = DefaultBatchBytes
	}
	if cfg.ExpandBytes <= 0 {
		cfg.ExpandBytes = DefaultExpandBytes
	}
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{}).DialContext
	}
	transport := &kafka.Transport{
		Dial:        secured(buffered(cfg.Dial), cfg.TLS),
		DialTimeout: cfg.Timeout,
		MetadataTTL: metadataTTL,
		ClientID:    cfg.ClientID,
		SASL:        cfg.SASL,
	}
	addr := kafka.TCP(cfg.Brokers...)
	return &Client{
		cfg: cfg, addr: addr, transport: transport, expand: newExpander(cfg.ExpandBytes),
		limits: limits{by: map[string]topicLimits{}},
		kafka:  &kafka.Client{Addr: addr, Transport: transport, Timeout: cfg.Timeout},
	}
}

// Close ends the idle connections at once and those in use after their request.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// roundTrip sends one request within the client's timeout, lengthened by wait for requests that make the broker wait.
func (c *Client) roundTrip(ctx context.Context, req protocol.Message, wait time.Duration) (protocol.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout+wait)
	defer cancel()
	return c.transport.RoundTrip(ctx, c.addr, req)
}

// sleep waits for d or until ctx ends, and says whether it waited in full.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func buffered(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &bufferedConn{Conn: conn, reader: bufio.NewReaderSize(conn, readBufferBytes)}, nil
	}
}

// secured opens connections with TLS by the files as they are then; nil = without. The client's own TLS would keep
// those of the start.
func secured(dial dialFunc, files *TLS) dialFunc {
	if files == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return files.secure(ctx, conn, address)
	}
}

type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (b *bufferedConn) Read(p []byte) (int, error) { return b.reader.Read(p) }

var errNoBrokers = errors.New("no broker address is configured")

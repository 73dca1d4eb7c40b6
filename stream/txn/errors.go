package txn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Kind names the remedy of an Error. It is the only thing to decide by; codes and texts are for people.
//
// After any failed Producer.Commit, of any Kind, the producer refuses further use until Recover.
type Kind int

const (
	// Environment: the cluster or one of its coordinators is away or not ready. Back off, then Recover and go on.
	Environment Kind = iota + 1
	// Unknown: no answer, or one that does not tell whether the request took effect. After Recover the records of the
	// transaction are there or not.
	Unknown
	// Fenced: another producer with the same transactional id has begun. Stop the task; it belongs to somebody else.
	Fenced
	// StaleGeneration: the group has moved on from the generation and member that were sent. Rejoin.
	StaleGeneration
	// TooLarge: a record or a batch exceeds the topic's or the broker's limit. Sending it again cannot help.
	TooLarge
	// OutOfRange: the offset asked for is not in the log (any more).
	OutOfRange
	// NoTopic: the cluster does not know the topic or the partition. Up to MetadataTTL after a creation this can be said
	// too early.
	NoTopic
	// Denied: authenticated, but without the right that the request needs. Somebody has to grant it.
	Denied
	// Credentials: the broker refused the user, the password or the mechanism.
	Credentials
	// Handshake: the two sides do not agree on TLS: an unknown certificate, a wrong name, one of them without TLS.
	Handshake
	// Invalid: the request itself is wrong; a mistake of configuration or program.
	Invalid
	// Poisoned: the producer was used after a failed Commit and before Recover.
	Poisoned
	// Retry: the same step again with the same sequence. Commit and NewProducer do it themselves; callers meet it never.
	Retry
)

var kindNames = [...]string{
	Environment: "environment", Unknown: "unknown outcome", Fenced: "fenced", StaleGeneration: "stale generation",
	TooLarge:   "too large",
	OutOfRange: "offset out of range", NoTopic: "no such topic", Denied: "denied", Credentials: "credentials",
	Handshake: "TLS handshake",
	Invalid:   "invalid", Poisoned: "poisoned", Retry: "retry",
}

// String names the kind in plain words.
func (k Kind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Error is returned by everything in this package that talks to a broker.
type Error struct {
	Op        string // the request, such as "EndTxn"
	Topic     string // empty where the error is not about one partition
	Partition int    // below 0 where it is about all of the topic
	Kind      Kind
	Code      int    // Kafka's error code; 0 where no broker answered
	Reason    string // why Kind follows, in a few words
	// Shrunk: the topic has refused a batch for its size or its timestamps, and the client keeps to narrower limits from
	// now on, by which the records may be taken.
	Shrunk bool
	Err    error
}

// Error says which request failed, where, and why.
func (e *Error) Error() string {
	where := ""
	if e.Topic != "" {
		if where = " " + e.Topic; e.Partition >= 0 {
			where = fmt.Sprintf(" %s/%d", e.Topic, e.Partition)
		}
	}
	return fmt.Sprintf("%s%s: %v (%s: %s)", e.Op, where, e.Err, e.Kind, e.Reason)
}

// Unwrap gives the cause: a kafka.Error, a network error, a context's error.
func (e *Error) Unwrap() error { return e.Err }

// KindOf gives the Kind of the first Error in err's chain, 0 for nil and for errors of other packages.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// Shrunk reports whether the records may be taken after such an error, see Error.Shrunk. Client.Limit tells more.
func Shrunk(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Shrunk
}

const opInit = "InitProducerID"

func failed(op string, err error) *Error {
	kind, reason := classify(op, err)
	e := &Error{Op: op, Kind: kind, Reason: reason, Err: err}
	var code kafka.Error
	if errors.As(err, &code) {
		e.Code = int(code)
	}
	return e
}

func failedAt(op, topic string, partition int, err error) *Error {
	e := failed(op, err)
	e.Topic, e.Partition = topic, partition
	return e
}

// classify is the one place where an error becomes a decision. Each row carries its reason.
func classify(op string, err error) (Kind, string) {
	var code kafka.Error
	if errors.As(err, &code) {
		return classifyCode(op, code)
	}
	var renew *renewError
	switch {
	case errors.As(err, &renew):
		return Environment, "the files of TLS or the password cannot be read, or there is no token"
	case errors.Is(err, protocol.ErrNoTopic), errors.Is(err, protocol.ErrNoPartition):
		return NoTopic, "not in the cluster's metadata"
	case errors.Is(err, protocol.ErrNoLeader):
		return Environment, "the partition has no leader at present"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Unknown, "given up before an answer came"
	case errors.As(err, new(refusedToken)):
		return Credentials, "the broker refused the token"
	case isHandshake(err):
		return Handshake, "TLS could not be agreed on"
	}
	var op2 *net.OpError
	if errors.As(err, &op2) && op2.Op == "dial" {
		return Environment, "no broker listens there"
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return Environment, "the broker's name does not resolve"
	}
	return Unknown, "the connection ended without an answer"
}

func classifyCode(op string, code kafka.Error) (Kind, string) {
	switch code {
	case kafka.ConcurrentTransactions: // 51
		return Retry, "the markers of the transaction before are still being written"
	case kafka.NotEnoughReplicas: // 19
		return Retry, "not appended: the broker could not verify the transaction, or replicas are missing"

	case kafka.ProducerFenced, kafka.InvalidProducerEpoch: // 90, 47
		return Fenced, "another producer has begun under this transactional id"

	case kafka.IllegalGeneration,
		kafka.UnknownMemberId,
		kafka.RebalanceInProgress,
		kafka.FencedInstanceID: // 22, 25, 27, 82
		return StaleGeneration, "the group has moved on"

	case kafka.GroupLoadInProgress, kafka.GroupCoordinatorNotAvailable, kafka.NotCoordinatorForGroup: // 14, 15, 16
		if op == opInit {
			return Retry, "the coordinator is starting or moving"
		}
		return Environment, "the coordinator is starting or moving"

	case kafka.RequestTimedOut, kafka.NotEnoughReplicasAfterAppend, kafka.NetworkException, kafka.Unknown: // 7, 20, 13, -1
		return Unknown, "it may have been written"
	case kafka.OutOfOrderSequenceNumber, kafka.DuplicateSequenceNumber, kafka.UnknownProducerId: // 45, 46, 59
		return Unknown, "the broker's record of this producer differs from ours"
	case kafka.InvalidTransactionState, kafka.InvalidProducerIDMapping, kafka.TransactionalIDNotFound: // 48, 49, 105
		return Unknown, "the transaction has ended otherwise, or the broker has forgotten the id"

	case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge: // 10, 18
		return TooLarge, "above the topic's max.message.bytes"
	case kafka.OffsetOutOfRange: // 1
		return OutOfRange, "outside what the log holds"
	case kafka.UnknownTopicOrPartition: // 3
		return NoTopic, "the broker does not have it"

	case kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.IllegalSASLState: // 58, 33, 34
		return Credentials, "the broker refused to authenticate"
	case kafka.TopicAuthorizationFailed,
		kafka.GroupAuthorizationFailed,
		kafka.ClusterAuthorizationFailed,
		kafka.TransactionalIDAuthorizationFailed,
		kafka.PolicyViolation: // 29, 30, 31, 53, 44
		return Denied, right(op, code)

	case kafka.InvalidTransactionTimeout: // 50
		return Invalid, "the timeout must be above 0 and not above the broker's transaction.max.timeout.ms"
	case kafka.InvalidMessage,
		kafka.InvalidRecord,
		kafka.UnsupportedCompressionType,
		kafka.UnsupportedForMessageFormat,
		kafka.InvalidTimestamp: // 2, 87, 76, 43, 32
		return Invalid, "the broker refused the batch, as of a record without key in a compacted topic"
	case kafka.InvalidTopic,
		kafka.InvalidPartitionNumber,
		kafka.InvalidReplicationFactor,
		kafka.InvalidReplicaAssignment,
		kafka.InvalidConfiguration,
		kafka.InvalidRequest,
		kafka.InvalidRequiredAcks,
		kafka.InvalidGroupId,
		kafka.InconsistentGroupProtocol,
		kafka.InvalidSessionTimeout,
		kafka.UnsupportedVersion,
		kafka.TopicAlreadyExists,
		kafka.OffsetMetadataTooLarge,
		kafka.InvalidCommitOffsetSize:
		return Invalid, "the broker does not accept such a request"
	}
	// The other codes (5, 6, 8, 9, 52, 56, 74, 75, 78, 88, 89 ...) are answers to requests without effect: leaders and
	// coordinators move, quotas throttle.
	return Environment, "the cluster is not ready for it"
}

// right names the missing right, by Kafka's names of operations.
func right(op string, code kafka.Error) string {
	operation := map[string]string{
		"Fetch": "Read", opProduce: "Write", "AddPartitionsToTxn": "Write", "ListOffsets": "Describe",
		"Metadata": "Describe", "DescribeConfigs": "DescribeConfigs",
		"CreateTopics": "Create", opJoin: "Read", "OffsetFetch": "Describe", "DescribeGroups": "Describe",
		"LeaveGroup": "Read", opInit: "Write", "EndTxn": "Write",
		"AddOffsetsToTxn": "Write", "TxnOffsetCommit": "Write",
	}[op]
	on := "it"
	switch code {
	case kafka.TopicAuthorizationFailed:
		on = "the topic"
	case kafka.GroupAuthorizationFailed:
		on = "the group"
		if op != "OffsetFetch" && op != "DescribeGroups" {
			operation = "Read"
		}
	case kafka.TransactionalIDAuthorizationFailed:
		on = "the transactional id"
	case kafka.ClusterAuthorizationFailed:
		on = "the cluster"
	}
	if operation == "" {
		return "a right is missing"
	}
	return "the right " + operation + " on " + on + " is missing"
}

func isHandshake(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		header  tls.RecordHeaderError
		alert   tls.AlertError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &header) || errors.As(err, &alert) ||
		errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid)
}

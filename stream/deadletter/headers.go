package deadletter

import (
	"strconv"
	"strings"

	"liftstream/codec"
)

// Headers are the further names under which a letter tells its place and its fault, for programs that know those of
// another system.
type Headers uint8

const (
	HeadersOwn     Headers = iota // none
	HeadersConnect                // those of the dead letters of Kafka Connect
	HeadersStreams                // those of the dead letters of Kafka Streams (KIP-1034)
)

const (
	connectPrefix = "__connect.errors."
	streamsPrefix = "__streams.errors."
)

// further reports whether a header of that name may stand among those of a letter.
func further(name string) bool {
	return strings.HasPrefix(name, connectPrefix) || strings.HasPrefix(name, streamsPrefix)
}

// put calls put for the further headers of a letter. The class of the fault is "liftstream." and the reason.
func (h Headers) put(from Origin, offset int64, reason codec.Reason, fault string, put func(k, v string)) {
	prefix, class, message := streamsPrefix, "exception", "message"
	switch h {
	case HeadersConnect:
		prefix, class, message = connectPrefix, "exception.class.name", "exception.message"
	case HeadersStreams:
	default:
		return
	}
	put(prefix+"topic", from.Topic)
	put(prefix+"partition", strconv.Itoa(from.Partition))
	put(prefix+"offset", strconv.FormatInt(offset, 10))
	put(prefix+class, "liftstream."+string(reason))
	put(prefix+message, fault)
	if h == HeadersConnect {
		put(prefix+"connector.name", from.Name)
		put(prefix+"task.id", strconv.Itoa(from.Partition))
		put(prefix+"stage", "VALUE_CONVERTER")
	}
}

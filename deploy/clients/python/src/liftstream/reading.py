"""Scores and dead letters out of their topics, read committed."""

from __future__ import annotations

import time
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from liftstream.frames import from_message, from_rows
from liftstream.registry import Registry, rows


@dataclass(frozen=True)
class Message:
    """A message as it lies in its topic; of two headers of one name the last one is kept."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes
    headers: Mapping[str, bytes]

    def table(self, registry: Registry | None = None) -> Any:
        """Its rows. Raises ValueError, as pyarrow.ArrowInvalid is one, where it holds none. Avro needs its registry."""
        return from_message(self.value, registry)


@dataclass(frozen=True)
class DeadLetter:
    """A row, or a whole message, that the stage could not read."""

    reason: str
    error: str
    stage: str
    topic: str
    partition: int
    offset: int
    row: int | None  # None: the whole message
    message: Message

    def table(self) -> Any | None:
        """The row in the schema of its message, of Arrow or JSON; None where the letter holds none."""
        try:
            return self.message.table()
        except ValueError:  # pyarrow.ArrowInvalid is one
            return None


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers(given: Any) -> dict[str, bytes]:
    pairs = given.items() if isinstance(given, dict) else given or []
    return {name: _bytes(value) or b"" for name, value in pairs}


def _text(m: Message, name: str) -> str:
    """A header of a dead letter. Letters of early builds have the names without the prefix; in others such a name
    is one of the message."""
    prefix = "liftstream-" if "liftstream-reason" in m.headers else ""
    return m.headers.get(prefix + name, b"").decode(errors="replace")


class Reader:
    """Iterates over the committed messages of a topic, of all partitions, in the order of each.

    It has no group: each reader sees all, and commits nothing. positions() are the offsets of the next messages; given
    as 'start' to another reader, that one goes on there. Scores of transactions that were given up do not come.
    Where the messages at 'start' are gone, it begins with the first one that is there.
    """

    def __init__(
        self,
        brokers: str,
        topic: str,
        *,
        start: Literal["start", "end"] | Mapping[int, int] = "start",
        follow: bool = False,
        timeout: float = 60,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """follow=False ends at the messages that were there when the reader was made; True goes on for ever.

        timeout bounds the seconds without any message before those ends: then TimeoutError. config is librdkafka's.
        Raises KafkaException where the topic is not there or no broker answers in that time.
        """
        fixed = {"bootstrap.servers": brokers, "isolation.level": "read_committed", "enable.auto.commit": False}
        named = {
            "group.id": "liftstream-reader",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",  # messages that go while one reads: on with the first that is there
        }
        self._consumer = Consumer({"enable.metrics.push": False, **(config or {}), **named, **fixed})
        self._follow, self._timeout, self._topic = follow, timeout, topic
        found = self._consumer.list_topics(topic, timeout=timeout).topics[topic]
        if found.error is not None:
            raise KafkaException(found.error)
        self._next: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        for p in found.partitions:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=timeout)
            given = {"start": low, "end": high}.get(start, low) if isinstance(start, str) else start.get(p, low)
            given = max(given, low)  # the messages before low are gone
            self._next[p], self._ends[p] = given, high
        self._consumer.assign([TopicPartition(topic, p, at) for p, at in self._next.items()])

    def positions(self) -> dict[int, int]:
        """The offset of the next message of each partition."""
        return dict(self._next)

    def _open(self) -> bool:
        return self._follow or any(self._next[p] < end for p, end in self._ends.items())

    def _pass(self, partition: int, offset: int) -> None:
        """Nothing is there before that offset. Messages from the end on are another reader's."""
        if not self._follow:
            offset = min(offset, self._ends[partition])
        self._next[partition] = max(self._next[partition], offset)

    def __iter__(self) -> Iterator[Message]:
        quiet = time.monotonic()
        while self._open():
            m = self._consumer.poll(0.2)
            if m is None:
                if not self._follow and time.monotonic() - quiet > self._timeout:
                    raise TimeoutError(f"{self._topic}: nothing for {self._timeout:g} s before its end")
                continue
            error, partition, offset = m.error(), m.partition(), m.offset()
            assert partition is not None
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                # The last offsets may be markers of transactions, which no reader sees.
                self._pass(partition, offset or 0)
                continue
            if error is not None:
                raise KafkaException(error)
            assert offset is not None
            quiet = time.monotonic()
            if not self._follow and offset >= self._ends[partition]:
                self._pass(partition, offset)
                continue
            self._next[partition] = offset + 1
            yield Message(partition, offset, _bytes(m.key()), _bytes(m.value()) or b"", _headers(m.headers()))

    def close(self) -> None:
        """Ends the connections."""
        self._consumer.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: types.TracebackType | None
    ) -> None:
        self.close()


def read_scores(brokers: str, topic: str, *, registry: Registry | str | None = None, **options: Any) -> Any:
    """All committed scores of a topic as one pyarrow table; options are those of Reader.

    Each event's scores are there once. A table without columns means that there are none. Several messages whose
    schemas differ, as after a change of output, give the union of their columns. Scores in Avro need the registry of
    their schema, or its address.
    """
    known = Registry(registry) if isinstance(registry, str) else registry
    tables: list[Any] = []
    single: list[dict[str, Any]] = []  # of messages with a row or a few, which make one table together

    def flush() -> None:
        if single:
            tables.append(from_rows(single))
            single.clear()

    with Reader(brokers, topic, **options) as reader:
        for m in reader:
            if (found := rows(m.value, known)) is not None:
                single.extend(found)
                continue
            flush()
            tables.append(m.table())
    flush()
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})


def read_dead_letters(brokers: str, topic: str, **options: Any) -> Iterator[DeadLetter]:
    """The dead letters of a topic; options are those of Reader. Receipts of 'liftstream dead replay' are left out."""
    with Reader(brokers, topic, **options) as reader:
        for m in reader:
            if "liftstream-receipt" not in m.headers:
                yield _letter(m)


def _letter(m: Message) -> DeadLetter:
    row = _text(m, "row")
    return DeadLetter(
        reason=_text(m, "reason"),
        error=_text(m, "error"),
        stage=_text(m, "stage"),
        topic=_text(m, "topic"),
        partition=int(_text(m, "partition") or -1),
        offset=int(_text(m, "offset") or -1),
        row=int(row) if row else None,
        message=m,
    )

"""Data frames into the topics of events and labels."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from liftstream.frames import Frame, to_message, to_table
from liftstream.partitions import partition_of


class DeliveryError(Exception):
    """Raised when the brokers have not taken messages. Others of the same frame may have arrived."""


@dataclass(frozen=True)
class Sent:
    """A message that the brokers have taken, and the rows of the frame that it holds, in order."""

    partition: int
    offset: int
    rows: tuple[int, ...]


class Sender:
    """Sends data frames to the topic of events, or that of labels.

    A row goes to the partition of its id; of labels without ids, to its source_partition, as copied from the scores. An
    event without an id goes to the partitions in turn, message by message. Rows of one partition keep their order.

    The producer is idempotent: a message that is sent again after a lost answer arrives once. A frame that is sent
    again by the caller arrives twice; 'dedup' of the stage leaves the second out.
    """

    def __init__(
        self,
        brokers: str,
        topic: str,
        *,
        id: str | None = None,
        batch: int = 1000,
        timeout: float = 60,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """brokers and topic as Kafka names them; id is record.id of the stage, batch the most rows of a message.

        config is librdkafka's, such as {"security.protocol": "SASL_SSL", ...}; timeout in seconds is that of a send.
        Raises KafkaException where the topic is not there or no broker answers in that time.
        """
        if batch < 1:
            raise ValueError(f"a message of {batch} rows is none")
        self._topic, self._id, self._batch, self._timeout = topic, id, batch, timeout
        settings: dict[str, Any] = {
            "enable.idempotence": True,
            "compression.type": "zstd",
            "enable.metrics.push": False,  # it says on stderr who it is
        }
        self._producer = Producer({**settings, **(config or {}), "bootstrap.servers": brokers})
        found = self._producer.list_topics(topic, timeout=timeout).topics[topic]
        if found.error is not None:
            raise KafkaException(found.error)
        self._partitions = len(found.partitions)
        self._turn = 0

    def send(self, frame: Frame, headers: Mapping[str, bytes] | None = None) -> list[Sent]:
        """Sends all rows of a frame, waits for the brokers, and returns the messages in the order of their positions.

        Raises KeyError where the frame lacks the column of the id, and DeliveryError where a message was not taken.
        """
        table = to_table(frame)
        sent: list[Sent] = []
        failed: list[str] = []

        def delivered(rows: list[int]) -> Callable[[KafkaError | None, Message], None]:
            def on_delivery(error: KafkaError | None, message: Message) -> None:
                partition, offset = message.partition(), message.offset()
                if error is not None or partition is None or offset is None:
                    failed.append(str(error))
                else:
                    sent.append(Sent(partition, offset, tuple(rows)))

            return on_delivery

        for partition, rows in self._messages(table):
            part = table.take(pa.array(rows, pa.int64()))
            head: list[tuple[str, str | bytes | None]] = [("rows", str(len(rows)).encode()), *(headers or {}).items()]
            self._produce(partition, to_message(part), head, delivered(rows))
        left = self._producer.flush(self._timeout)
        if failed or left:
            why = failed[0] if failed else f"no answer after {self._timeout:g} s"
            raise DeliveryError(f"{self._topic}: {len(failed) + left} messages were not taken: {why}")
        return sorted(sent, key=lambda s: (s.partition, s.offset))

    def _produce(self, partition: int, value: bytes, headers: list[tuple[str, str | bytes | None]], done: Any) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, partition=partition, headers=headers, on_delivery=done)
                self._producer.poll(0)
                return
            except BufferError:  # the queue is full: some of it has to go first
                self._producer.poll(1)

    def _messages(self, table: Any) -> list[tuple[int, list[int]]]:
        """The rows of each message, with its partition."""
        if self._id is not None and self._id in table.column_names:
            ids = table.column(self._id).cast(pa.string()).to_pylist()
            homes = [partition_of(i or "", self._partitions) for i in ids]
        elif "source_partition" in table.column_names:
            homes = table.column("source_partition").to_pylist()
        elif self._id is not None:
            raise KeyError(f"the frame has no column {self._id}, nor source_partition")
        else:
            chunks = range(0, table.num_rows, self._batch)
            first, self._turn = self._turn, self._turn + len(chunks)
            return [
                ((first + n) % self._partitions, list(range(c, min(c + self._batch, table.num_rows))))
                for n, c in enumerate(chunks)
            ]
        rows: dict[int, list[int]] = {}
        for row, home in enumerate(homes):
            if not isinstance(home, int) or not 0 <= home < self._partitions:
                raise ValueError(f"row {row}: source_partition is {home}, of {self._partitions} partitions")
            rows.setdefault(home, []).append(row)
        return [
            (home, own[c : c + self._batch])
            for home, own in sorted(rows.items())
            for c in range(0, len(own), self._batch)
        ]

    def __enter__(self) -> Sender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: types.TracebackType | None
    ) -> None:
        self._producer.flush(self._timeout)

"""Frames go through a running stage and come back as scores and dead letters."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from conftest import PARTITIONS, Stage

import liftstream

EVENTS, LABELS, SCORES, DEAD = "votes-events", "votes-labels", "votes-scores", "votes-dead"


def wait(what: str, done: Callable[[], Any]) -> Any:
    """Waits for a thing that only a broken program keeps from coming."""
    deadline = time.monotonic() + 300
    while not (got := done()):
        assert time.monotonic() < deadline, f"{what} does not come"
        time.sleep(0.2)
    return got


def scores_of(stage: Stage, rows: int) -> Any:
    def done() -> Any:
        table = liftstream.read_scores(stage.brokers, SCORES)
        return table if table.num_rows >= rows else None

    return wait(f"score {rows}", done)


def test_each_row_is_scored_once_in_the_partition_of_its_id(stage: Stage, votes: pa.Table) -> None:
    with liftstream.Sender(stage.brokers, EVENTS, id="member", batch=40) as events:
        sent = events.send(votes.to_pandas(), headers={"client": b"python"})
    assert sorted(r for s in sent for r in s.rows) == list(range(votes.num_rows))
    assert all(list(s.rows) == sorted(s.rows) and len(s.rows) <= 40 for s in sent)
    scores = scores_of(stage, votes.num_rows).to_pylist()
    assert sorted(r["id"] for r in scores) == sorted(votes.column("member").to_pylist())
    at = {(s.partition, s.offset): s.rows for s in sent}
    for r in scores:
        assert r["source_partition"] == liftstream.partition_of(r["id"], PARTITIONS)
        assert r["id"] == f"m{at[r['source_partition'], r['source_offset']][r['source_row']]}"
        assert abs(r["propensity_democrat"] + r["propensity_republican"] - 1) < 1e-9
    with liftstream.Reader(stage.brokers, SCORES) as reader:
        assert all(m.headers["client"] == b"python" for m in reader)
        assert reader.positions().keys() == set(range(PARTITIONS))
        again = liftstream.read_scores(stage.brokers, SCORES, start=reader.positions())
    assert again.num_rows == 0
    assert liftstream.read_scores(stage.brokers, SCORES, start="end").num_rows == 0


@pytest.mark.parametrize("by", ["id", "source"])
def test_labels_reach_their_records(stage: Stage, votes: pa.Table, by: str) -> None:
    """Classes that come later are learnt: the scores of the same records tell them apart then."""
    with liftstream.Sender(stage.brokers, EVENTS, id="member") as events:
        events.send(votes.drop_columns(["class"]))
        before = scores_of(stage, votes.num_rows)
        assert set(before.column("status").to_pylist()) == {"untrained"}
        classes = dict(zip(votes.column("member").to_pylist(), votes.column("class").to_pylist(), strict=True))
        labels = before.select(["id", "source_partition", "source_offset", "source_row"])
        labels = labels.append_column("class", pa.array([classes[i] for i in labels.column("id").to_pylist()]))
        if by == "id":
            labels = labels.select(["id", "class"]).rename_columns(["member", "class"])
        else:
            labels = labels.drop_columns(["id"])
        with liftstream.Sender(stage.brokers, LABELS, id="member") as sender:
            sender.send(labels)

        def learnt() -> bool:
            events.send(votes.drop_columns(["class"]).slice(0, 1))
            rows = liftstream.read_scores(stage.brokers, SCORES).slice(votes.num_rows).to_pylist()
            return any(r["status"] == "ok" and r["propensity_" + classes["m0"]] > 0.9 for r in rows)

        wait("a score that has learnt", learnt)


def test_a_message_that_cannot_be_read_is_a_dead_letter(stage: Stage) -> None:
    bad = Producer({"bootstrap.servers": stage.brokers})
    bad.produce(EVENTS, b"no Arrow", partition=1, headers=[("reason", b"of the event")])
    assert bad.flush(60) == 0
    (letter,) = wait("a letter", lambda: list(liftstream.read_dead_letters(stage.brokers, DEAD)))
    assert (letter.topic, letter.stage, letter.partition, letter.offset, letter.row) == (EVENTS, "events", 1, 0, None)
    assert letter.table() is None and letter.message.value == b"no Arrow"
    assert letter.error and letter.reason and letter.reason != "of the event"


def test_wrong_frames_and_topics_are_refused(stage: Stage, votes: pa.Table) -> None:
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC"):
        liftstream.Sender(stage.brokers, "nothing")
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC"):
        liftstream.Reader(stage.brokers, "nothing")
    with pytest.raises(ValueError, match="a message of 0 rows"):
        liftstream.Sender(stage.brokers, EVENTS, batch=0)
    with liftstream.Sender(stage.brokers, EVENTS, id="customer") as events:
        with pytest.raises(KeyError, match="no column customer"):
            events.send(votes)
        with pytest.raises(ValueError, match="source_partition is 7, of 3"):
            events.send({"source_partition": [7]})
    with pytest.raises(KafkaException):
        liftstream.Sender("127.0.0.1:1", EVENTS, timeout=1)
    assert liftstream.read_scores(stage.brokers, SCORES).num_rows == 0


def test_a_reader_goes_on_where_another_ended(stage: Stage) -> None:
    """Nothing is passed over, though messages came to one partition while the reader was still in another."""

    def send(partition: int, messages: int) -> None:
        producer = Producer({"bootstrap.servers": stage.brokers, "batch.num.messages": 1})
        for i in range(messages):
            producer.produce(DEAD, f"{i}".encode().ljust(2000), partition=partition)
        assert producer.flush(60) == 0

    send(1, 60)
    with liftstream.Reader(stage.brokers, DEAD, config={"fetch.message.max.bytes": 2000}) as reader:
        send(0, 5)
        assert [m.partition for m in reader] == [1] * 60
        assert reader.positions() == {0: 0, 1: 60, 2: 0}
    with liftstream.Reader(stage.brokers, DEAD, start=reader.positions()) as reader:
        assert [m.offset for m in reader] == list(range(5))


def test_a_reader_begins_with_the_first_message_that_is_there(stage: Stage) -> None:
    """The retention may take messages before the positions of a former reader are used."""
    producer = Producer({"bootstrap.servers": stage.brokers})
    for i in range(5):
        producer.produce(DEAD, f"{i}".encode(), partition=0)
    assert producer.flush(60) == 0
    admin = AdminClient({"bootstrap.servers": stage.brokers})
    for done in admin.delete_records([TopicPartition(DEAD, 0, 3)]).values():
        done.result(60)
    with liftstream.Reader(stage.brokers, DEAD, start={0: 1}) as reader:
        assert [m.offset for m in reader] == [3, 4]

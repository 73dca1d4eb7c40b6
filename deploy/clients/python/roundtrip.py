#!/usr/bin/env python3
"""Sends records to liftstream as Arrow messages and reads their scores back, read committed.

Needs confluent-kafka and pyarrow. The topics must exist and a stage must run on them, for example:

    liftstream topics create -c votes.yaml
    liftstream run -c votes.yaml &
    python3 roundtrip.py --brokers localhost:9092 --events votes-events --scores votes-scores --id member votes.csv

Prints one line of JSON: how many records were sent and scored, and the record of the highest propensity. The exit
status is 1 when a record stays without its score, is scored twice, or lies in another partition than its event.
"""

import argparse
import json
import sys
import time

import pyarrow as pa
import pyarrow.csv
from confluent_kafka import Consumer, Producer, TopicPartition


def message(table):
    """The value of an events message: one Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def home(data, partitions):
    """The partition of a record with this id, as Java's clients choose it: murmur2 without its sign, mod partitions."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return ((h ^ h >> 15) & 0x7FFFFFFF) % partitions


def read_table(path, identifier):
    """The records, every column that is not a number as text, empty meaning missing."""
    options = pa.csv.ConvertOptions(strings_can_be_null=True, null_values=[""], column_types={identifier: pa.string()})
    return pa.csv.read_csv(path, convert_options=options)


def send(args, table, partitions):
    """Sends the table and returns the ids by (partition, offset), in the order of their rows."""
    sent, failed = {}, []
    producer = Producer({"bootstrap.servers": args.brokers, "enable.idempotence": True, "compression.type": "zstd"})

    def delivered(ids):
        def on_delivery(error, event):
            if error:
                failed.append(str(error))
            else:
                sent[event.partition(), event.offset()] = ids

        return on_delivery

    ids = table.column(args.id).to_pylist()
    homes = [home(i.encode(), partitions) for i in ids]
    for partition in range(partitions):
        rows = [r for r, at in enumerate(homes) if at == partition]
        for start in range(0, len(rows), args.batch):
            part = rows[start : start + args.batch]
            batch = table.take(pa.array(part))
            producer.produce(
                args.events,
                message(batch),
                partition=partition,
                headers={"rows": str(len(part)).encode(), "client": b"python"},
                on_delivery=delivered([ids[r] for r in part]),
            )
    producer.flush(60)
    if failed:
        sys.exit("sending events: " + failed[0])
    return sent


def receive(args, sent, partitions):
    """Reads the scores of the sent messages, each once, and returns their rows."""
    consumer = Consumer(
        {
            "bootstrap.servers": args.brokers,
            "group.id": args.scores + "-roundtrip",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(args.scores, p, 0) for p in range(partitions)])
    rows, answered, quiet = [], set(), time.monotonic() + args.timeout
    while len(answered) < len(sent):
        if time.monotonic() > quiet:
            missing = len(sent) - len(answered)
            sys.exit(f"reading scores: {missing} of {len(sent)} messages have no answer after {args.timeout} s")
        record = consumer.poll(0.5)
        if record is None:
            continue
        if record.error():
            sys.exit("reading scores: " + str(record.error()))
        table = pa.ipc.open_stream(record.value()).read_all()
        got = table.to_pylist()
        if not got or (record.partition(), got[0]["source_offset"]) not in sent:
            continue  # of somebody else's event
        at = record.partition(), got[0]["source_offset"]
        if at in answered:
            sys.exit(f"scores of event {at} came twice")
        if any(r["source_partition"] != record.partition() for r in got):
            sys.exit(f"scores of event {at} lie in partition {record.partition()}")
        if [r["id"] for r in got] != sent[at]:
            sys.exit(f"scores of event {at} are not those of its records")
        if dict(record.headers()).get("client") != b"python":
            sys.exit(f"scores of event {at} lack its header")
        answered.add(at)
        rows += got
    consumer.close()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a CSV file")
    parser.add_argument("--brokers", default="localhost:9092")
    parser.add_argument("--events", required=True, help="topic")
    parser.add_argument("--scores", required=True, help="topic")
    parser.add_argument("--id", required=True, help="column of the id, as record.id in the configuration")
    parser.add_argument("--batch", type=int, default=500, help="records in a message")
    parser.add_argument("--timeout", type=float, default=60, help="seconds to wait for the scores")
    args = parser.parse_args()

    table = read_table(args.data, args.id)
    probe = Producer({"bootstrap.servers": args.brokers})
    partitions = len(probe.list_topics(args.events, timeout=10).topics[args.events].partitions)
    rows = receive(args, send(args, table, partitions), partitions)
    for r in rows:
        total = sum(v for k, v in r.items() if k.startswith("propensity_"))
        if abs(total - 1) > 1e-9:
            sys.exit(f"the propensities of {r['id']} sum to {total}")
    best = max(rows, key=lambda r: r["propensity_" + r["target"]])
    print(
        json.dumps(
            {
                "sent": table.num_rows,
                "scored": len(rows),
                "best": {
                    "id": best["id"],
                    "target": best["target"],
                    "propensity": best["propensity_" + best["target"]],
                    "why": best["why"],
                },
            }
        )
    )


if __name__ == "__main__":
    main()

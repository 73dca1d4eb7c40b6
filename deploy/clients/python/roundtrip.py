#!/usr/bin/env python3
"""Sends records to liftstream as Arrow messages and reads their scores back, read committed.

Needs the package of this folder (README.md). The topics must exist and a stage must run on them, for example:

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

import liftstream


def read_table(path, identifier):
    """The records, every column that is not a number as text, empty meaning missing."""
    options = pa.csv.ConvertOptions(strings_can_be_null=True, null_values=[""], column_types={identifier: pa.string()})
    return pa.csv.read_csv(path, convert_options=options)


def receive(args, sent):
    """Reads the scores of the sent messages, each once, and returns their rows."""
    rows, answered, start = [], set(), "start"
    deadline = time.monotonic() + args.timeout
    while len(answered) < len(sent):
        if time.monotonic() > deadline:
            missing = len(sent) - len(answered)
            sys.exit(f"reading scores: {missing} of {len(sent)} messages have no answer after {args.timeout} s")
        with liftstream.Reader(args.brokers, args.scores, start=start) as reader:
            for m in reader:
                got = m.table().to_pylist()
                if not got or (m.partition, got[0]["source_offset"]) not in sent:
                    continue  # of somebody else's event
                at = m.partition, got[0]["source_offset"]
                if at in answered:
                    sys.exit(f"scores of event {at} came twice")
                if any(r["source_partition"] != m.partition for r in got):
                    sys.exit(f"scores of event {at} lie in partition {m.partition}")
                if [r["id"] for r in got] != sent[at]:
                    sys.exit(f"scores of event {at} are not those of its records")
                if m.headers.get("client") != b"python":
                    sys.exit(f"scores of event {at} lack its header")
                answered.add(at)
                rows += got
            start = reader.positions()
        time.sleep(0.2)
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
    ids = table.column(args.id).to_pylist()
    with liftstream.Sender(args.brokers, args.events, id=args.id, batch=args.batch) as events:
        messages = events.send(table, headers={"client": b"python"})
    rows = receive(args, {(m.partition, m.offset): [ids[r] for r in m.rows] for m in messages})
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

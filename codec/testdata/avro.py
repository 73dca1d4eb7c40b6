#!/usr/bin/env python3
"""Writes scores.avro: the rows of scores.jsonl as fastavro encodes them under scores.avsc, each in the frame of a schema
registry with the id of the test. Run it in this folder: python3 avro.py (fastavro 1.13)."""

import datetime
import io
import json
import struct

import fastavro

schema = json.load(open("scores.avsc"))
parsed = fastavro.parse_schema(schema)
epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def micros(text):
    """The time as whole microseconds, rounded down; datetime has no more digits."""
    head, _, digits = text.rstrip("Z").partition(".")
    at = datetime.datetime.fromisoformat(head + "+00:00")
    return (at - epoch) // datetime.timedelta(microseconds=1) + int((digits + "0" * 6)[:6])


out = io.BytesIO()
for line in open("scores.jsonl"):
    row = json.loads(line)
    row["time"] = row["time"] and micros(row["time"])
    names = {f.get("column", f["name"]): f["name"] for f in schema["fields"]}
    out.write(b"\0" + struct.pack(">I", (1 << 24) + 2))
    fastavro.schemaless_writer(out, parsed, {names[k]: v for k, v in row.items()}, strict=True)
open("scores.avro", "wb").write(out.getvalue())

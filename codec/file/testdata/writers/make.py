#!/usr/bin/env python3
"""Writes one table by several writers of Arrow, in the forms that the format allows. make.py OUT

pip install pyarrow==26.0.1 arro3-core==0.9.1 arro3-io==0.9.1 nanoarrow==0.9.0 polars==2.1.0; make.cjs writes those of
JavaScript. rust is arrow-rs, nano is nanoarrow."""
import decimal, io, pathlib, sys

import arro3.io
import nanoarrow as na
import nanoarrow.ipc
import polars as pl
import pyarrow as pa

out = pathlib.Path(sys.argv[1])
V4 = pa.ipc.MetadataVersion.V4
columns = {
    "id": pa.array(["a", "b", "c", "d", "e"]),
    "x": pa.array([1.5, None, -2, 0, 1e300], pa.float64()),
    "level": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None, 2], pa.int8()), pa.array(["low", "mid", "high"])),
    "at": pa.array([0, 1000, None, 1700000000000, 5], pa.timestamp("ms", "UTC")),
    # Nobody reads the others.
    "lists": pa.array([[1, 2], [], None, [3], [4]], pa.list_(pa.int32())),
    "pairs": pa.array([[("k", 1)], [], None, [("l", 2)], []], pa.map_(pa.string(), pa.int32())),
    "either": pa.UnionArray.from_sparse(pa.array([0, 1, 0, 1, 0], pa.int8()),
                                        [pa.array([1, 2, 3, 4, 5]), pa.array(["p", "q", "r", "s", "t"])]),
    "nothing": pa.nulls(5),
    "fixed": pa.array([b"ab", b"cd", None, b"ef", b"gh"], pa.binary(2)),
    "many": pa.array([[1, 2], [3, 4], None, [5, 6], [7, 8]], pa.list_(pa.int16(), 2)),
    "took": pa.array([1, 2, None, 4, 5], pa.duration("s")),
    "hour": pa.array([1, 2, None, 4, 5], pa.time32("s")),
    "money": pa.array([v and decimal.Decimal(v) for v in [1, 2, None, 4, 5]], pa.decimal128(20, 2)),
    "parts": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 3, "b": None}, {"a": 4, "b": "z"}]),
}
fields = [pa.field(n, c.type, metadata={"unit": "s", "": "x"} if n == "x" else None) for n, c in columns.items()]
table = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata={"made": "here", "empty": ""}))
plain = table.drop_columns(["either"])  # V4 has another form of unions


def write(name, t, **options):
    sink = io.BytesIO()
    new = pa.ipc.new_file if name.endswith(".arrow") else pa.ipc.new_stream
    with new(sink, t.schema, options=pa.ipc.IpcWriteOptions(**options)) as w:
        for b in t.to_batches(max_chunksize=2):
            w.write_batch(b)
    (out / name).write_bytes(sink.getvalue())


for end in [".arrow", ".arrows"]:
    write("cpp" + end, table)
    write("cpp-v4" + end, plain, metadata_version=V4)
    write("cpp-before-0.15" + end, plain, metadata_version=V4, use_legacy_format=True)
    write("cpp-bare" + end, table.select(["id", "x"]).replace_schema_metadata(None))
write("cpp-zstd.arrow", table, compression="zstd")
write("cpp-one-dictionary.arrow", table, unify_dictionaries=True)
known = plain.select(["id", "x", "level", "at", "lists", "took", "hour", "money", "parts", "fixed", "nothing"])
arro3.io.write_ipc(known, str(out / "rust.arrow"), compression=None)
arro3.io.write_ipc_stream(known, str(out / "rust.arrows"), compression=None)
with na.ipc.StreamWriter.from_path(str(out / "nano.arrows")) as w:
    w.write_stream(plain.select(["id", "x", "at"]))
frame = pl.from_arrow(plain.select(["id", "x", "level", "at", "lists"]))
frame.write_ipc(str(out / "polars.arrow"))
frame.write_ipc_stream(str(out / "polars.arrows"))

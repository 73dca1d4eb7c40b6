"""Makes the Arrow messages of this folder with pyarrow, and what must be read from them (expected.json).

Run it in this folder: python3 make.py
"""
import datetime
import decimal
import json

import numpy as np
import pyarrow as pa

D = decimal.Decimal
UTC = datetime.timezone.utc


def stream(name, batches, compression=None):
    opts = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=True)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=opts) as w:
        for b in batches:
            w.write_batch(b)
    with open(name, "wb") as f:
        f.write(sink.getvalue().to_pybytes())


expected = {"numbers": {}, "levels": {}, "times": {}}
columns = {}


def number(name, array, values):
    columns[name] = array
    expected["numbers"][name] = [None if v is None else float(v) for v in values]


def level(name, array, values):
    columns[name] = array
    expected["levels"][name] = values


for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
    number(f"n_{t}", pa.array([1, 0, None, 100], t), [1, 0, None, 100])
    level(f"l_{t}", pa.array([1, 0, None, 100], t), ["1", "0", None, "100"])
level("l_int64_wide", pa.array([-2**63, 2**63 - 1, None, 10**6], pa.int64()), [str(-2**63), str(2**63 - 1), None, "1000000"])
level("l_uint64_wide", pa.array([2**64 - 1, 1, None, 2], pa.uint64()), [str(2**64 - 1), "1", None, "2"])
number("n_float16", pa.array(np.array([1.5, -0.25, np.nan, 100], np.float16)), [1.5, -0.25, None, 100])
number("n_float32", pa.array([0.1, float("inf"), None, 1e-3], pa.float32()), [np.float32(0.1), None, None, np.float32(1e-3)])
number("n_float64", pa.array([0.1, float("-inf"), None, 1e300]), [0.1, None, None, 1e300])
level("l_float16", pa.array(np.array([1, 0.5, np.nan, -2], np.float16)), ["1", "0.5", None, "-2"])
level("l_float32", pa.array([0.1, -0.0, None, 1e6], pa.float32()), ["0.1", "0", None, "1000000"])
level("l_float64", pa.array([1.0, 0.1, float("nan"), 1e21]), ["1", "0.1", None, "1e+21"])
number("n_bool", pa.array([True, False, None, True]), [1, 0, None, 1])
level("l_bool", pa.array([True, False, None, True]), ["true", "false", None, "true"])
dec = [D("1.50"), D("-0.01"), None, D("123456789012345.67")]
number("n_decimal128", pa.array(dec, pa.decimal128(20, 2)), dec)
number("n_decimal256", pa.array(dec, pa.decimal256(40, 2)), dec)
big = [D("123456789012345678901234567890.12345"), D("-1.00000"), None, D("0.00001")]
number("n_decimal256_big", pa.array(big, pa.decimal256(70, 5)), big)
level("l_decimal128", pa.array(dec, pa.decimal128(20, 2)), ["1.5", "-0.01", None, "123456789012345.67"])
level("l_decimal256", pa.array(big, pa.decimal256(70, 5)), ["123456789012345678901234567890.12345", "-1", None, "0.00001"])
number("n_dictionary", pa.array([7, 8, None, 7], pa.int32()).dictionary_encode(), [7, 8, None, 7])
number("n_null", pa.nulls(4), [None] * 4)
texts = ["red", " blue ", None, "NA"]
for t in (pa.string(), pa.large_string(), pa.string_view()):
    level(f"l_{t}", pa.array(texts, t), ["red", "blue", None, None])
long = ["x" * 40, "red", None, "y" * 40]
level("l_string_view_long", pa.array(long, pa.string_view()), long)
level("l_dictionary", pa.array(texts).dictionary_encode(), ["red", "blue", None, None])
level("l_dictionary_int", pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.uint8()), pa.array([5, 6])), ["6", "5", None, "6"])
level("l_null", pa.nulls(4), [None] * 4)

moments = [datetime.datetime(2024, 5, 1, 12, 0, 0, 123000, UTC), datetime.datetime(1969, 12, 31, 23, 59, 59, 0, UTC), None,
           datetime.datetime(2100, 1, 1, tzinfo=UTC)]
DEFAULT = 99


def nano(m, unit):
    if m is None:
        return DEFAULT
    per = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    d = m - datetime.datetime(1970, 1, 1, tzinfo=UTC)
    ns = ((d.days * 86400 + d.seconds) * 10**6 + d.microseconds) * 1000
    return ns // per * per


times = {}
for unit in ("s", "ms", "us", "ns"):
    for zone in (None, "UTC", "Europe/Berlin"):
        a = pa.array([None if m is None else nano(m, "ns") // {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit] for m in moments],
                     pa.timestamp(unit, zone))
        times[f"t_{unit}_{zone}"] = (a, [nano(m, unit) for m in moments])
days = [None if m is None else m.date() for m in moments]
midnight = [DEFAULT if d is None else nano(datetime.datetime(d.year, d.month, d.day, tzinfo=UTC), "ns") for d in days]
times["t_date32"] = (pa.array(days, pa.date32()), midnight)
times["t_date64"] = (pa.array(days, pa.date64()), midnight)
times["t_int64"] = (pa.array([None if m is None else nano(m, "ns") // 10**6 for m in moments], pa.int64()), [nano(m, "ms") for m in moments])
times["t_text"] = (pa.array([None if m is None else m.isoformat() for m in moments]), [nano(m, "us") for m in moments])
for name, (a, want) in times.items():
    columns[name] = a
    expected["times"][name] = want

# Columns that nobody asks for.
columns["x_list"] = pa.array([[1, 2], [], None, [3]])
columns["x_struct"] = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 2, "b": None}])
columns["x_map"] = pa.array([[("k", 1)], [], None, [("m", 2)]], pa.map_(pa.string(), pa.int32()))
columns["x_binary"] = pa.array([b"\x00\xff", b"", None, b"z"])
columns["x_fixed"] = pa.array([b"ab", b"cd", None, b"ef"], pa.binary(2))
columns["x_duration"] = pa.array([1, 2, None, 3], pa.duration("s"))
columns["x_time"] = pa.array([1, 2, None, 3], pa.time64("ns"))
columns["x_union"] = pa.UnionArray.from_sparse(pa.array([0, 1, 0, 1], pa.int8()), [pa.array([1, 2, 3, 4]), pa.array(list("abcd"))])
columns["x_dense"] = pa.UnionArray.from_dense(pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32()),
                                              [pa.array([1, 2]), pa.array(list("ab"))])
columns["x_ree"] = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array(["p", "q"]))
columns["x_fixed_list"] = pa.array([[1, 2], [3, 4], None, [5, 6]], pa.list_(pa.int8(), 2))
columns["x_list_view"] = pa.array([[1], [2, 3], None, []], pa.list_view(pa.int32()))

batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
stream("types.arrows", [batch])
stream("types_lz4.arrows", [batch], "lz4")
stream("types_zstd.arrows", [batch], "zstd")
with pa.OSFile("types.arrow", "wb") as f, pa.ipc.new_file(f, batch.schema) as w:
    w.write_batch(batch)

# A dictionary that grows (delta), then one that is replaced.
schema = pa.schema([("color", pa.dictionary(pa.int32(), pa.string())), ("class", pa.string())])


def colors(indices, values):
    d = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values))
    return pa.RecordBatch.from_arrays([d, pa.array(["yes"] * len(indices))], schema=schema)


parts = [colors([0, 1, 0], ["red", "green"]), colors([2, None, 1], ["red", "green", "blue"]), colors([0, 1], ["black", "white"])]
stream("dictionary.arrows", parts)
stream("dictionary_zstd.arrows", parts, "zstd")
expected["dictionary"] = ["red", "green", "red", "blue", None, "green", "black", "white"]
stream("other_dictionary.arrows", [colors([0, 1], ["one", "two"])])
stream("empty.arrows", [batch.slice(0, 0)])

labels = pa.RecordBatch.from_arrays(
    [pa.array(["yes", "no", None, "maybe"]), pa.array([3, 4, 5, 6], pa.int32()), pa.array([10, 11, 12, 13], pa.int64()), pa.array([0, 1, 2, 3], pa.int32())],
    names=["class", "source_partition", "source_offset", "source_row"])
stream("labels.arrows", [labels])

with open("expected.json", "w") as f:
    json.dump(expected, f, indent=1)
    f.write("\n")

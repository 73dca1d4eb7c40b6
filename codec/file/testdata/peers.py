#!/usr/bin/env python3
"""Writes files by pyarrow, pandas, Polars and DuckDB, damages copies of them, and says what the peer reads in each.

peers.py OUT [--good N] [--bad M] [--seed S] [--most BYTES]

OUT/index.jsonl has one line a file: its name, how it was made, whether it was damaged, and what the peer says of it:
"rows" (they stand in OUT/NAME.rows, by column) or "error". The peer of Parquet and Arrow is pyarrow, checksums and
validation on; of CSV Python's csv module; of JSON lines Python's json module. Equal arguments give equal files for
equal versions of the libraries, but for Polars and DuckDB where those have threads."""
import argparse, csv, decimal, gzip, io, json, math, multiprocessing, pathlib, random, resource, sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import zstandard

TEXTS = ["plain", 'says "hi"', "two\nlines", "tab\there", "grüße 漢", "back\\slash", "semi;colon", "com,ma", "12\" pipe",
         "0123", "NA", "true", "e" * 40, "'quoted'", "#hash", "a|b", "-", "1,5", "漢字" * 9]


def holes(r, n, values, nulls):
    """The values with nulls: none, some, all, or in runs."""
    if nulls == "none":
        return values
    if nulls == "all":
        return [None] * n
    if nulls == "runs":
        return [None if (i // 50) % 2 else v for i, v in enumerate(values)]
    return [None if r.random() < .2 else v for v in values]


def columns(r, n, nulls):
    """Columns of every type, as Arrow arrays."""
    of = lambda f: holes(r, n, [f(i) for i in range(n)], nulls)
    out = {}
    for bits in [8, 16, 32, 64]:
        lo, hi = -(1 << bits - 1), (1 << bits - 1) - 1
        out[f"i{bits}"] = pa.array(of(lambda i: r.choice([lo, hi, 0, r.randint(lo, hi)])), pa.type_for_alias(f"int{bits}"))
        out[f"u{bits}"] = pa.array(of(lambda i: r.choice([0, 2 * hi + 1, r.randint(0, hi)])),
                                   pa.type_for_alias(f"uint{bits}"))
    out["small"] = pa.array(of(lambda i: i % 5), pa.int64())
    out["sorted"] = pa.array(of(lambda i: 1777134800018164000 + i), pa.int64())
    out["f16"] = pa.array(of(lambda i: np.float16(r.uniform(-100, 100))), pa.float16())
    out["f32"] = pa.array(of(lambda i: r.uniform(-1e6, 1e6)), pa.float32())
    out["f64"] = pa.array(of(lambda i: r.choice([r.gauss(0, 1), 1e300, -0.0, 5e-324])), pa.float64())
    out["flag"] = pa.array(of(lambda i: r.random() < .3), pa.bool_())
    out["runs"] = pa.array(of(lambda i: (i // 100) % 2 == 0), pa.bool_())
    out["text"] = pa.array(of(lambda i: r.choice(TEXTS)), pa.string())
    out["unique"] = pa.array(of(lambda i: f"id-{r.getrandbits(60)}-{i}"), pa.string())
    out["large"] = pa.array(of(lambda i: f"prefix-{i // 3:06}"), pa.large_string())
    out["day"] = pa.array(of(lambda i: r.randint(0, 20000)), pa.date32())
    for unit, scale in [("s", 1), ("ms", 10 ** 3), ("us", 10 ** 6), ("ns", 10 ** 9)]:
        at = of(lambda i: r.randint(0, 1700000000) * scale + r.randint(0, scale - 1))
        out["at_" + unit] = pa.array(at, pa.timestamp(unit))
        out["zone_" + unit] = pa.array(at, pa.timestamp(unit, "Europe/Berlin"))
    for p, s in [(5, 2), (16, 4), (30, 6)]:
        out[f"dec{p}"] = pa.array(of(lambda i: decimal.Decimal(r.randint(-10 ** (p - 1), 10 ** (p - 1))).scaleb(-s)),
                                  pa.decimal128(p, s))
    out["dec50"] = pa.array(of(lambda i: decimal.Decimal(r.randint(-10 ** 20, 10 ** 20)).scaleb(-3)), pa.decimal256(50, 3))
    out["level"] = pa.array(of(lambda i: r.choice(["low", "mid", "high"])), pa.string()).dictionary_encode()
    return out


def pick(r, cols, k):
    names = r.sample(sorted(cols), min(k, len(cols)))
    return pa.table({n: cols[n] for n in names})


# ---- how files are made: each yields (kind, bytes, description, how to read it as text)

def by_pyarrow(r, n, nulls):
    cols = columns(r, n, nulls)
    kind = r.choice(["parquet"] * 6 + ["arrow", "arrows", "feather"])
    t = pick(r, cols, r.randint(1, 8))
    sink = io.BytesIO()
    if kind == "parquet":
        o = dict(compression=r.choice(["none", "snappy", "gzip", "brotli", "zstd", "lz4"]),
                 data_page_version=r.choice(["1.0", "2.0"]), row_group_size=r.choice([n or 1, max(1, n // 3), 100]),
                 data_page_size=r.choice([100, 1000, 1 << 20]), write_page_checksum=r.random() < .5,
                 write_page_index=r.random() < .3,
                 store_schema=r.random() < .8, write_batch_size=r.choice([7, 1024]))
        how = r.choice(["dictionary", "small dictionary", "plain", "encoded", "int96"])
        if how == "int96":
            o["use_deprecated_int96_timestamps"] = True
        elif how == "small dictionary":
            o["dictionary_pagesize_limit"] = 64
        elif how != "dictionary":
            o["use_dictionary"] = False
        if how == "encoded":
            o["column_encoding"] = {f.name: e for f in t.schema if (e := encoding(r, f.type))}
        t2 = t
        if how == "encoded":  # a column with an encoding of its own is no dictionary
            t2 = pa.table({f.name: c.cast(pa.string()) if pa.types.is_dictionary(f.type) else c
                           for f, c in zip(t.schema, t.columns)})
        pq.write_table(t2, sink, **o)
        return kind, sink.getvalue(), f"pyarrow {how} {o}", {}
    if kind == "feather":
        c = r.choice(["uncompressed", "lz4", "zstd"])
        pa.feather.write_feather(t, sink, compression=c)
        return kind, sink.getvalue(), f"pyarrow feather {c}", {}
    c = r.choice([None, "lz4", "zstd"])
    new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
    with new(sink, t.schema, options=pa.ipc.IpcWriteOptions(compression=c)) as w:
        w.write_table(t, max_chunksize=r.choice([50, 1000, n + 1]))
    return kind, sink.getvalue(), f"pyarrow {kind} {c}", {}


def encoding(r, t):
    if pa.types.is_boolean(t):
        return r.choice(["PLAIN", "RLE"])
    if pa.types.is_integer(t) or pa.types.is_date(t) or pa.types.is_timestamp(t):
        return r.choice(["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"])
    if pa.types.is_floating(t) or pa.types.is_decimal(t):
        return r.choice(["PLAIN", "BYTE_STREAM_SPLIT"])
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return r.choice(["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
    return None


def plain(r, n, nulls):
    """Columns that text files hold."""
    cols = columns(r, n, nulls)
    for k in list(cols):
        if k.startswith(("at_", "zone_", "dec", "level", "f16", "f32")):
            del cols[k]
    return pick(r, cols, r.randint(2, 7))


def packed(r, kind, data):
    how = r.choice(["", "", "", ".gz", ".zst"])
    if how == ".gz":
        data = gzip.compress(data, mtime=0)
    elif how == ".zst":
        data = zstandard.ZstdCompressor(write_checksum=r.random() < .5).compress(data)
    return kind + how, data


def by_pandas(r, n, nulls):
    t = plain(r, n, nulls)
    kind = r.choice(["csv", "csv", "csv", "csv", "jsonl", "parquet", "feather"])
    df = t.to_pandas(types_mapper=pd.ArrowDtype)
    sink = io.BytesIO()
    if kind == "parquet":
        o = dict(compression=r.choice([None, "snappy", "gzip", "brotli", "zstd"]))
        df.to_parquet(sink, **o)
        return kind, sink.getvalue(), f"pandas {o}", {}
    if kind == "feather":
        df.to_feather(sink)
        return kind, sink.getvalue(), "pandas feather", {}
    if kind == "jsonl":
        for k in list(df.columns):
            if df[k].dtype == pd.ArrowDtype(pa.date32()):
                df[k] = df[k].astype(str)
        data = df.to_json(orient="records", lines=True, force_ascii=r.random() < .5, double_precision=15).encode()
        kind, data = packed(r, kind, data)
        return kind, data, "pandas jsonl", {}
    o = dict(sep=r.choice(",,;\t|"), lineterminator=r.choice(["\n", "\n", "\r\n", "\r"]),
             quoting=r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    enc = r.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
    read = dict(sep=o["sep"], encoding=enc, format={})
    if o["sep"] == ";" and r.random() < .6:
        read["format"] = {"decimal": ","}
        for k in list(df.columns):  # pandas leaves the decimal comma out for columns of Arrow
            if df[k].dtype == pd.ArrowDtype(pa.float64()):
                df[k] = df[k].map(lambda v: None if v is None or v is pd.NA else repr(v).replace(".", ","), na_action="ignore")
    text = df.to_csv(index=False, **o)
    if r.random() < .15:
        text = "sep=" + o["sep"] + o["lineterminator"] + text
        read["skip"] = 1
    kind, data = packed(r, kind, text.encode(enc))
    return kind, data, f"pandas csv {o} {enc} {read['format']}", read


def by_polars(r, n, nulls):
    kind = r.choice(["parquet", "parquet", "arrow", "arrows", "csv", "jsonl"])
    sink = io.BytesIO()
    if kind in ("csv", "jsonl"):
        df = pl.from_arrow(plain(r, n, nulls))
        if kind == "jsonl":
            df.write_ndjson(sink)
            kind, data = packed(r, kind, sink.getvalue())
            return kind, data, "polars ndjson", {}
        o = dict(separator=r.choice(",;\t"), include_bom=r.random() < .3, quote_style=r.choice(["necessary", "always"]))
        df.write_csv(sink, **o)
        kind, data = packed(r, kind, sink.getvalue())
        return kind, data, f"polars csv {o}", dict(sep=o["separator"], encoding="utf-8-sig", format={})
    cols = columns(r, n, nulls)
    del cols["dec50"], cols["f16"]
    df = pl.from_arrow(pick(r, cols, r.randint(1, 8)))
    if kind == "parquet":
        o = dict(compression=r.choice(["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"]),
                 row_group_size=r.choice([None, 100]), data_page_size=r.choice([None, 500]), statistics=r.random() < .5)
        df.write_parquet(sink, **o)
        return kind, sink.getvalue(), f"polars {o}", {}
    o = dict(compression=r.choice(["uncompressed", "lz4", "zstd"]),
             compat_level=r.choice([pl.CompatLevel.oldest(), pl.CompatLevel.newest()]))
    (df.write_ipc if kind == "arrow" else df.write_ipc_stream)(sink, **o)
    return kind, sink.getvalue(), f"polars {kind} {o['compression']}", {}


def by_duckdb(r, n, nulls, scratch):
    kind = r.choice(["parquet", "parquet", "csv", "jsonl"])
    con = duckdb.connect(config={"threads": 1})
    path = scratch / "duckdb.parquet"
    if kind == "parquet":
        cols = columns(r, n, nulls)
        del cols["dec50"], cols["f16"]
        t = pick(r, cols, r.randint(1, 8))
        o = f"FORMAT parquet, COMPRESSION {r.choice('uncompressed snappy gzip zstd brotli lz4 lz4_raw'.split())}, " \
            f"PARQUET_VERSION {r.choice(['V1', 'V2'])}, ROW_GROUP_SIZE {r.choice([2048, 122880])}"
    else:
        t = plain(r, n, nulls)
        o = "FORMAT json"
        if kind == "csv":
            sep = r.choice([",", ";", "\t", "|"])
            o = f"FORMAT csv, HEADER, DELIMITER '{sep}'" + (", FORCE_QUOTE *" if r.random() < .3 else "")
    con.register("t", t)
    con.execute(f"COPY (SELECT * FROM t) TO '{path}' ({o})")
    data = path.read_bytes()
    read = {}
    if kind != "parquet":
        kind, data = packed(r, kind, data)
    if kind.startswith("csv"):
        read = dict(sep=sep, encoding="utf-8", format={})
    return kind, data, "duckdb " + o.replace("\t", "TAB"), read


# ---- what the peer reads

def cells(a):
    """An Arrow column as (kind, values as texts)."""
    t = a.type
    if pa.types.is_dictionary(t):
        t = t.value_type
        if pa.types.is_string_view(t):  # pyarrow takes nothing from these
            return "text", [v.as_py() for v in a]
        a = pa.chunked_array([c.dictionary_decode() for c in a.chunks], t)
    if pa.types.is_date32(t):
        return "time", [None if v is None else str(v * 86400 * 10 ** 9) for v in a.cast(pa.int32()).to_pylist()]
    if pa.types.is_timestamp(t):
        scale = {"s": 10 ** 9, "ms": 10 ** 6, "us": 10 ** 3, "ns": 1}[t.unit]
        return "time", [None if v is None else str(v * scale) for v in a.cast(pa.int64()).to_pylist()]
    if pa.types.is_integer(t):
        return "text", [None if v is None else str(v) for v in a.to_pylist()]
    if pa.types.is_floating(t):
        return "float", [None if v is None or not math.isfinite(v) else repr(float(v)) for v in a.to_pylist()]
    if pa.types.is_decimal(t):
        return "decimal", [None if v is None else format(v, "f") for v in a.to_pylist()]
    if pa.types.is_boolean(t):
        return "text", [None if v is None else str(v).lower() for v in a.to_pylist()]
    if pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t):
        return "text", a.to_pylist()
    return "other", [None if v is None else "" for v in a.to_pylist()]


def of_arrow(t):
    t.validate(full=True)
    return [dict(name=n, kind=k, values=v) for n, c in zip(t.column_names, t.columns) for k, v in [cells(c)]]


def loose(v):
    """A value of a text file: blanks around it are cut, no text is null."""
    v = v.strip(" \t") if v is not None else ""
    return v if v else None


def peer(kind, data, read):
    """The rows by the peer, or an exception."""
    if kind == "parquet":
        f = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True)
        return of_arrow(f.read(use_threads=False))
    if kind in ("arrow", "feather"):
        return of_arrow(pa.ipc.open_file(io.BytesIO(data)).read_all())
    if kind == "arrows":
        return of_arrow(pa.ipc.open_stream(io.BytesIO(data)).read_all())
    if kind.endswith(".gz"):
        data = gzip.decompress(data)
    if kind.endswith(".zst"):
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as z:
            data = z.read()
    if kind.startswith("jsonl"):
        return of_json(data.decode("utf-8"))
    text = data.decode(read["encoding"])
    if text.startswith("\ufeff"):
        text = text[1:]
    rows = [x for x in csv.reader(io.StringIO(text, newline=""), delimiter=read["sep"], strict=True) if x]
    rows = rows[read.get("skip", 0):]
    names = [x.strip(" \t") for x in rows[0]]
    while len(names) > 1 and not names[-1]:
        names.pop()
    if len(rows) > 1 and len(rows[1]) > len(names):  # a delimiter at the end of the lines makes empty columns
        if any(len(x) != len(rows[1]) or any(v.strip() for v in x[len(names):]) for x in rows[1:]):
            raise ValueError("values behind the last column")
        rows = [x[:len(names)] for x in rows]
    rows[0] = names
    if len(set(names)) < len(names) or any(len(x) != len(names) for x in rows):
        raise ValueError("rows of other widths, or names twice")
    return [dict(name=n, kind="loose", values=[loose(x[i]) for x in rows[1:]]) for i, n in enumerate(names)]


class Digits(str):
    pass


def of_json(text):
    rows = []
    for line in text.split("\n"):
        if line.strip():
            row = json.loads(line, parse_int=Digits, parse_float=Digits, object_pairs_hook=once)
            if not isinstance(row, dict):
                raise ValueError("no object")
            rows.append(row)
    names = list(dict.fromkeys(k for row in rows for k in row))
    return [dict(name=n, kind="loose", values=[json_text(row.get(n)) for row in rows]) for n in names]


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def json_text(v):
    if isinstance(v, bool):
        return str(v).lower()
    if v is None or isinstance(v, str):
        return loose(v)
    raise ValueError("nested")


def child(pipe, kind, data, read):
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        pipe.send(peer(kind, data, read))
    except BaseException as e:
        pipe.send(f"{type(e).__name__}: {e}"[:200])


def apart(kind, data, read):
    """peer in a process of its own: damaged files kill it."""
    ours, theirs = multiprocessing.Pipe()
    p = multiprocessing.Process(target=child, args=(theirs, kind, data, read))
    p.start()
    theirs.close()
    try:
        out = ours.recv() if ours.poll(20) else "no end"
    except EOFError:
        out = "the peer died"
    p.kill()
    p.join()
    return out


def damage(r, data):
    """A damaged copy: bits flipped, an end cut off, a hole, or a piece of zeros or of other bytes."""
    x, n = bytearray(data), len(data)
    how = r.choice(["flip", "flip", "flip", "flips", "cut", "hole", "zeros", "noise"])
    at = r.randrange(n)
    if how == "flip":
        x[at] ^= 1 << r.randrange(8)
    elif how == "flips":
        for _ in range(8):
            x[r.randrange(n)] ^= 1 << r.randrange(8)
    elif how == "cut":
        del x[at:]
    elif how == "hole":
        del x[at:at + r.randint(1, max(1, n // 4))]
    else:
        k = min(n - at, r.randint(1, 40))
        x[at:at + k] = bytes(k) if how == "zeros" else r.randbytes(k)
    return how, bytes(x)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--good", type=int, default=500)
    p.add_argument("--bad", type=int, default=1000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--most", type=int, default=400_000, help="bytes of a file")
    o = p.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    r = random.Random(o.seed)
    index, made = open(o.out / "index.jsonl", "w"), []

    def put(name, kind, data, how, read, bad):
        """Writes a file and what the peer says; a file that its peer does not read is none."""
        rows = apart(kind, data, read)
        if isinstance(rows, str) and not bad:
            print(f"left out, for the peer does not read its own file ({how}): {rows}", file=sys.stderr)
            return False
        (o.out / name).write_bytes(data)
        if not isinstance(rows, str):
            (o.out / (name + ".rows")).write_text(json.dumps(rows, ensure_ascii=False))
        index.write(json.dumps(dict(file=name, how=how, bad=bad, peer="error" if isinstance(rows, str) else "rows",
                                    says=rows if isinstance(rows, str) else "")) + "\n")
        return True

    while len(made) < o.good:
        n = r.choice([1, 2, 30, 300, 300, 1000, 3000])
        nulls = r.choice(["none", "some", "some", "runs", "all"])
        maker = r.choice([by_pyarrow, by_pyarrow, by_pandas, by_polars, by_duckdb])
        kind, data, how, read = maker(r, n, nulls, *([o.out] if maker is by_duckdb else []))
        if len(data) > o.most:
            continue
        name = f"g{len(made):04}.{kind}"
        if put(name, kind, data, f"{how}, {n} rows, nulls {nulls}", read, False):
            made.append((name, kind, data, read))
    for i in range(o.bad):
        name, kind, data, read = r.choice(made)
        how, data = damage(r, data)
        put(f"d{i:04}.{kind}", kind, data, f"{name}: {how}", read, True)
    index.close()
    (o.out / "duckdb.parquet").unlink(missing_ok=True)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main()

"""Writes the same eight records in every format that is read. Run it in this folder: python3 make.py"""
import gzip
import json

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

names = ["who", "age", "score", "job", "grade", "zip", "note", "class"]
rows = [
    ("a1", 58, 1.5, "management", "2", "01234", "plain", "no"),
    ("a2", 44, -0.25, "technician", "1", "99999", 'says "hi", twice', "yes"),
    ("a3", 33, None, "entrepreneur", "3", "00001", "two\nlines", "no"),
    ("a4", None, 1e-3, "blue-collar", "1", "12345", "", "yes"),
    ("a5", 47, 2000000.0, None, "2", "01234", "tab\there", "no"),
    ("a6", 35, 0.1, "retired", None, "54321", "grüße 漢", "yes"),
    ("a7", 28, 3.0, "technician", "1", "01234", "back\\slash", "no"),
    ("a8", 42, 7.25, "management", "2", "01234", "end", None),
]


def cell(v):
    if v is None:
        return ""
    if isinstance(v, float):
        return repr(v)
    v = str(v)
    return '"' + v.replace('"', '""') + '"' if any(c in v for c in ',"\n;\t') else v


def csv(sep, end="\n"):
    return end.join([sep.join(names)] + [sep.join(cell(v) for v in r) for r in rows]) + end


open("rows.csv", "w", newline="").write(csv(","))
open("semicolon.csv", "w", newline="").write("\ufeff" + csv(";", "\r\n"))
open("tabs.tsv", "w", newline="").write(csv("\t"))
with gzip.GzipFile("rows.csv.gz", "wb", mtime=0) as f:
    f.write(csv(",").encode())
with open("rows.jsonl", "w") as f:
    for i, r in enumerate(rows):
        d = dict(zip(names, r))
        if d["grade"] is not None:
            d["grade"] = int(d["grade"])  # a level may come as a number
        if i % 2:
            d = {k: v for k, v in d.items() if v is not None}
        f.write(json.dumps(d, ensure_ascii=i % 3 == 0) + "\n")
with gzip.GzipFile("rows.jsonl.gz", "wb", mtime=0) as f:
    f.write(open("rows.jsonl", "rb").read())

types = [pa.string(), pa.int32(), pa.float64(), pa.string(), pa.float64(), pa.string(), pa.large_string(), pa.string()]
table = pa.table({n: pa.array([None if r[i] is None else float(r[i]) if n == "grade" else r[i] for r in rows], types[i]) for i, n in enumerate(names)})
dictionary = table.set_column(3, "job", table["job"].dictionary_encode())
with pa.OSFile("rows.arrows", "wb") as f, pa.ipc.new_stream(f, dictionary.schema) as w:
    w.write_table(dictionary, max_chunksize=3)
with pa.OSFile("rows.arrow", "wb") as f, pa.ipc.new_file(f, dictionary.schema) as w:
    w.write_table(dictionary)
pa.feather.write_feather(table, "rows.feather", compression="lz4")
pa.parquet.write_table(table, "rows.parquet", row_group_size=3)

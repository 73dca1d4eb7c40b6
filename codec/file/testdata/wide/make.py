"""Makes files with decimals of 32 and 64 bits (pyarrow) and whole numbers of 128 bits (Polars).

Run it in this folder: python3 make.py
"""

import decimal

import polars as pl
import pyarrow as pa

TEXTS = ["0", "-1", "1", None, "1234567", "-9999999"]
ID = ["a", "b", "c", "d", "e", "f"]


def scaled(texts, scale):
    return [None if t is None else decimal.Decimal(t).scaleb(-scale) for t in texts]


small = pa.array(scaled(TEXTS, 2), pa.decimal32(9, 2))
middle = pa.array(scaled(TEXTS, -3), pa.decimal64(18, -3))
table = pa.table(
    {
        "id": ID,
        "d32": small,
        "d64": middle,
        "dict": pa.DictionaryArray.from_arrays(pa.array([5, 4, 3, 2, 1, 0], pa.int8()), small),
        "list": pa.ListArray.from_arrays(pa.array(range(7), pa.int32()), middle),
        "none": pa.array([b""] * 6, pa.binary(0)),
    }
)
for name, compression in ("pyarrow.arrows", None), ("pyarrow_zstd.arrows", "zstd"):
    with pa.OSFile(name, "wb") as f:
        with pa.ipc.new_stream(f, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as w:
            w.write_table(table, max_chunksize=4)

most = 2**127 - 1
frame = pl.DataFrame(
    {
        "id": ID,
        "i128": pl.Series([0, -1, 1, None, most, -most], dtype=pl.Int128),
        "u128": pl.Series([0, 1, 2**64, None, most, 2**128 - 1], dtype=pl.UInt128),
    }
)
frame.write_ipc_stream("polars.arrows")
frame.write_ipc("polars.arrow", compression="lz4")
frame.write_parquet("polars.parquet")

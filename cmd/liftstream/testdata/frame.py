"""Writes one DataFrame in seven formats into a folder and prints their names: frame.py DIR"""
import datetime
import decimal
import random
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

folder, rows = sys.argv[1], 1500
random.seed(17)
plus = [random.random() < .4 for _ in range(rows)]
grade = [random.randint(1, 5) for _ in range(rows)]
frame = pd.DataFrame({
    "customer": [1777134800018164000 + i for i in range(rows)],
    "age": [random.randint(18, 80) for _ in range(rows)],
    "plus": plus,
    "tier": [None if random.random() < .1 else random.randint(1, 3) for _ in range(rows)],  # becomes a float
    "price": [random.randint(0, 400) / 8 for _ in range(rows)],
    "zip": ["0%d" % random.randint(2130, 2138) for _ in range(rows)],
    "grade": grade,
    "share": [decimal.Decimal(random.randint(1, 2)) / 4 for _ in range(rows)],  # .25 and .50
    "start": [datetime.date(2024, random.randint(1, 2), 1) for _ in range(rows)],
    "y": [random.random() < .2 + .08 * g + (.2 if p else 0) for p, g in zip(plus, grade)],
})
names = [folder + "/" + n for n in ("x.csv", "x.csv.gz", "x.jsonl", "x.parquet", "x.feather", "x.arrow", "x.arrows")]
written = frame.copy()
written["share"] = ["%.2f" % v for v in frame["share"]]
written.to_csv(names[0], index=False)
written.to_csv(names[1], index=False)
frame.assign(share=frame["share"].astype(float), start=frame["start"].astype(str)).to_json(
    names[2], orient="records", lines=True, double_precision=15)
table = pa.Table.from_pandas(frame, preserve_index=False)
i = table.schema.get_field_index("share")
table = table.set_column(i, "share", table["share"].cast(pa.decimal128(9, 2)))
i = table.schema.get_field_index("zip")
table = table.set_column(i, "zip", table["zip"].dictionary_encode())
pa.parquet.write_table(table, names[3])
pa.feather.write_feather(table, names[4])
with pa.ipc.new_file(names[5], table.schema) as out:
    out.write_table(table)
with pa.ipc.new_stream(names[6], table.schema) as out:
    out.write_table(table)
print("\n".join(names))

"""Scores records with an exported scorecard and prints the propensities of the target as JSON.

    portable.py RECORDS.json CARD.sql|CARD.onnx
"""

import json
import sys


def by_sql(x, path):
    import duckdb

    db = duckdb.connect()
    db.execute("CREATE TABLE raw AS SELECT * FROM read_csv(?, all_varchar=true, header=true, delim=',', quote='\"',"
               " escape='\"', nullstr='')", [x["records"]])
    columns = []
    for name, *_ in db.execute("SELECT * FROM raw LIMIT 0").description:
        quoted = '"' + name.replace('"', '""') + '"'
        number = x["kinds"].get(name) == "continuous"
        columns.append(f"TRY_CAST({quoted} AS DOUBLE) AS {quoted}" if number else quoted)
    db.execute(f"CREATE TABLE records AS SELECT {', '.join(columns)} FROM raw")
    with open(path, encoding="utf-8") as f:
        found = db.execute(f.read())
    at = [c[0] for c in found.description].index("propensity_" + x["target"])
    return [row[at] for row in found.fetchall()]


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        x = json.load(f)
    path = sys.argv[2]
    print(json.dumps({"sql": by_sql}[path.rsplit(".", 1)[1]](x, path)))


main()

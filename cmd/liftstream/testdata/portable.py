"""Scores records with an exported scorecard and prints the propensities of the target as JSON.

    portable.py RECORDS.json CARD.sql|CARD.onnx|CARD.pmml
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


def inputs(x):
    """The columns of the features: numbers, NaN where they are missing, and texts."""
    import csv

    def number(text):
        try:
            return float(text)
        except ValueError:
            return float("nan")

    with open(x["records"], encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))[: x["n"]]
    return {
        name: [number(row[name]) if kind == "continuous" else row[name] for row in rows]
        for name, kind in x["kinds"].items()
    }


def by_onnx(x, path):
    import numpy
    import onnxruntime

    columns = {
        name: numpy.array(cells, dtype=numpy.float64 if x["kinds"][name] == "continuous" else object).reshape(-1, 1)
        for name, cells in inputs(x).items()
    }
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["propensity_" + x["target"]], columns)[0][:, 0].tolist()


def by_pmml(x, path):
    import jpmml_evaluator
    import pandas

    evaluator = jpmml_evaluator.make_evaluator(path).verify()
    return evaluator.evaluateAll(pandas.DataFrame(inputs(x)))["propensity_" + x["target"]].tolist()


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        x = json.load(f)
    path = sys.argv[2]
    print(json.dumps({"sql": by_sql, "onnx": by_onnx, "pmml": by_pmml}[path.rsplit(".", 1)[1]](x, path)))


main()

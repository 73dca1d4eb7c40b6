#!/usr/bin/env python3
"""Gives a classifier only the features that liftstream selects for each record, and measures whether that helps.

    liftstream eval -q -c bank.yaml bank.csv --method all --scores scores.arrow
    python3 masked.py bank.csv scores.arrow --label class --drop duration

Each record is scored before it is learnt: boosted trees of scikit-learn, anew for each block of records, and logistic
regression of river, record by record. 'masked' means that the features outside of the record's subspace are missing, in
learning and in scoring. 'plus' keeps all features and adds the propensities of liftstream. Needs numpy, pyarrow,
scikit-learn and river. MASKED.md has the figures of four data sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from river import compose, linear_model, preprocessing
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score

SMALLEST = 1e-6  # the log-loss of a certain and wrong answer is bounded


def features_of(table: Any, out: list[str]) -> dict[str, Any]:
    """Columns as floats: numbers as they are, texts as codes, missing as NaN."""
    columns = {}
    for name in table.column_names:
        if name in out:
            continue
        column = table.column(name)
        if pa.types.is_string(column.type):
            column = column.combine_chunks().dictionary_encode().indices
        columns[name] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return columns


def trees(x: Any, y: Any, texts: list[bool], skip: int, block: int) -> Any:
    """Propensities of boosted trees that were fitted to all records before each block."""
    p = np.full(len(y), np.nan)
    for start in range(skip, len(y), block):
        # A column without two values says nothing, and the trees refuse it.
        use = [j for j in range(x.shape[1]) if len(np.unique(x[:start, j][~np.isnan(x[:start, j])])) > 1]
        if not use:  # liftstream has selected nothing yet
            p[start : start + block] = y[:start].mean()
            continue
        model = HistGradientBoostingClassifier(categorical_features=[texts[j] for j in use], random_state=1)
        model.fit(x[:start, use], y[:start])
        p[start : start + block] = model.predict_proba(x[start : start + block, use])[:, 1]
    return p


def rows_of(columns: dict[str, Any], texts: list[bool], keep: Any) -> Iterator[dict[str, Any]]:
    """Records for river: numbers as they are, a text as an indicator of its code; what is missing has no key."""
    names = list(columns)
    for i in range(len(keep)):
        row = {}
        for j, name in enumerate(names):
            value = columns[name][i]
            if keep[i, j] and not np.isnan(value):
                row[f"{name}={value:g}" if texts[j] else name] = 1 if texts[j] else float(value)
        yield row


def logistic(rows: Iterator[dict[str, Any]], y: Any) -> Any:
    """Propensities of a logistic regression that learns each record after it has scored it."""
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    indicators = compose.SelectType(int)  # scaled, a column of ones would be zero
    model = (numbers + indicators) | linear_model.LogisticRegression()
    p = np.zeros(len(y))
    for i, row in enumerate(rows):
        p[i] = model.predict_proba_one(row).get(True, 0.5)
        model.learn_one(row, bool(y[i]))
    return p


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a CSV file")
    parser.add_argument("scores", help="its scores, as 'liftstream eval --scores' wrote them to an .arrow file")
    parser.add_argument("--label", required=True, help="column of the label")
    parser.add_argument("--drop", action="append", default=[], help="column that is no feature")
    parser.add_argument("--skip", type=int, default=500, help="first records that are not measured")
    parser.add_argument("--block", type=int, default=500, help="records between two fits of the trees")
    args = parser.parse_args()

    options = pa.csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
    data = pa.csv.read_csv(args.data, convert_options=options)
    with pa.ipc.open_file(args.scores) as reader:
        scores = reader.read_all().sort_by("source_row")
    target = [c for c in scores.column_names if c.startswith("propensity_")][-1]
    y = np.array([str(c) == target.removeprefix("propensity_") for c in data.column(args.label).to_pylist()])
    own = scores.column(target).to_numpy()
    columns = features_of(data, [args.label, *args.drop])
    texts = [pa.types.is_string(data.schema.field(name).type) for name in columns]
    x = np.column_stack(list(columns.values()))
    subspaces = [set(s or ()) for s in scores.column("subspace").to_pylist()]
    keep = np.array([[name in s for name in columns] for s in subspaces])
    masked = np.where(keep, x, np.nan)
    odds = np.log(np.clip(own, SMALLEST, 1 - SMALLEST) / np.clip(1 - own, SMALLEST, 1))
    plus = {**columns, "(liftstream)": odds}
    every = np.ones_like(keep)
    results = {
        "liftstream": own,
        "trees, all features": trees(x, y, texts, args.skip, args.block),
        "trees, masked": trees(masked, y, texts, args.skip, args.block),
        "trees, plus": trees(np.column_stack([x, odds]), y, [*texts, False], args.skip, args.block),
        "logistic, all features": logistic(rows_of(columns, texts, every), y),
        "logistic, masked": logistic(rows_of(columns, texts, keep), y),
        "logistic, plus": logistic(rows_of(plus, [*texts, False], np.column_stack([every, every[:, :1]])), y),
    }
    print(f"{args.data}: {len(y) - args.skip} records measured, {keep.mean():.0%} of the values kept, target {target}")
    for name, p in results.items():
        p, truth = np.clip(p[args.skip :], SMALLEST, 1 - SMALLEST), y[args.skip :]
        print(f"  {name:24} log-loss {log_loss(truth, p):.4f}  AUC {roc_auc_score(truth, p):.4f}")


if __name__ == "__main__":
    main()

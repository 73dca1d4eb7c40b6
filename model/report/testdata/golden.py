"""Weights of evidence and information values of optbinning (1.0.0), given the same cuts.

python3 -m venv v && v/bin/pip install optbinning && v/bin/python golden.py BANK ADULT WDBC > optbinning.json

BANK is bank_full.csv (Bank Marketing, Moro, Cortez and Rita), ADULT adult_train.csv (Adult, Becker and Kohavi), WDBC
wdbc.csv (Breast Cancer Wisconsin), all of the UCI repository, CC BY 4.0. Of each column the file holds the counts of
the classes by value.
"""
import csv
import gzip
import json
import sys

import numpy
from optbinning.binning.binning_statistics import BinningTable

COLUMNS = [
    (0, "age", "yes", [24.5, 34.5, 44.5, 59.5, 88.5]),
    (0, "campaign", "yes", [1.5, 2.5, 5.5, 20.5, 45.5]),
    (1, "age", ">50K", [17.5, 24.5, 39.5, 64.5]),
    (1, "hours_per_week", ">50K", [19.5, 39.5, 40.5, 60.5]),
    (2, "radius_mean", "M", [8.05, 11.05, 13.05, 15.05, 21.05]),
]


def rows(name):
    with (gzip.open if name.endswith(".gz") else open)(name, "rt") as f:
        return list(csv.DictReader(f))


tables = [rows(name) for name in sys.argv[1:]]
out = []
for table, column, positive, cuts in COLUMNS:
    name = column if column in tables[table][0] else column.replace("_", "-")
    x = numpy.array([float(r[name]) for r in tables[table]])
    y = numpy.array([int(r["class"] == positive) for r in tables[table]])
    cell = numpy.searchsorted(cuts, x)
    event, other = ([int(((cell == k) & (y == c)).sum()) for k in range(len(cuts) + 1)] + [0, 0] for c in (1, 0))
    # The last two are special codes and missing values. OptimalBinning itself would refuse cells of one class.
    b = BinningTable(name, "numerical", None, numpy.array(cuts), numpy.array(other), numpy.array(event), x.min(), x.max(),
                     None, None, None)
    t = b.build()
    bins = t[:len(cuts) + 1]
    values = [[float(v), int(((x == v) & (y == 0)).sum()), int(((x == v) & (y == 1)).sum())] for v in numpy.unique(x)]
    out.append({"set": table, "column": column, "cuts": cuts, "values": values,
                "event": [int(v) for v in bins["Event"]], "count": [int(v) for v in bins["Count"]],
                "woe": [float(v) for v in bins["WoE"]], "iv": float(t["IV"]["Totals"])})
json.dump(out, sys.stdout)

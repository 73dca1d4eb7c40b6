#!/usr/bin/env python3
"""How near the log-loss that propensities promise before any label is to the one that labels later tell.

usage: estimated.py DATA.csv LABEL POSITIVE SCORES.csv

SCORES.csv is that of `eval ... --scores SCORES.csv` on DATA.csv. In blocks of records, one every 500 and the first
1,000 records left out: the share of blocks whose estimate, the mean entropy of the propensities, is within .01 of the
log-loss; the standard deviation of the difference where each propensity q is the true one, the root of the sum of
q (1 - q) ln(q / (1 - q))^2 over the number of records; the share that this leaves within .01; and the root mean square
of the difference over that deviation, which is 1 for true propensities.
"""

import csv
import math
import statistics
import sys


def main():
    data, label, positive, scores = sys.argv[1:]
    with open(data) as f:
        truth = [r[label] == positive for r in csv.DictReader(f)]
    with open(scores) as f:
        q = [min(max(float(r["propensity_" + positive]), 1e-9), 1 - 1e-9) for r in csv.DictReader(f)]
    if len(q) != len(truth):
        sys.exit(f"{scores} has {len(q)} records, {data} {len(truth)}")
    entropy = [-p * math.log(p) - (1 - p) * math.log1p(-p) for p in q]
    loss = [-math.log(p if t else 1 - p) for p, t in zip(q, truth)]
    spread = [p * (1 - p) * (math.log(p) - math.log1p(-p)) ** 2 for p in q]
    normal = statistics.NormalDist()
    for size in (5_000, 10_000, 20_000):
        within, possible, ratio, deviation = [], [], [], []
        for a in range(1_000, len(q) - size + 1, 500):
            block = slice(a, a + size)
            off = (sum(loss[block]) - sum(entropy[block])) / size
            s = math.sqrt(sum(spread[block])) / size
            within.append(abs(off) < 0.01)
            possible.append(2 * normal.cdf(0.01 / s) - 1)
            ratio.append((off / s) ** 2)
            deviation.append(s)
        if within:
            share, chance, s = (statistics.mean(x) for x in (within, possible, deviation))
            rms = math.sqrt(statistics.mean(ratio))
            print(f"blocks of {size:,}: within {share:.3f}, chance {chance:.3f}, deviation {s:.4f}, ratio {rms:.2f}")


main()

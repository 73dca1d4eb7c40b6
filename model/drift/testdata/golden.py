"""Writes golden.json: the alarms of the detectors of river 0.26.1 on streams made by formula.

usage: python3 river.py > golden.json
"""
import json
import math

from river._river_rust.drift import AdaptiveWindowing
from river.drift import ADWIN, PageHinkley

M = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & M
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & M
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & M
    return x ^ x >> 31


def u(seed, i, k):
    return (mix((mix(seed) + 16 * i + k) & M) >> 11) / 2.0**53


def stream(kind, seed, n):
    for i in range(n):
        a, b = u(seed, i, 0), u(seed, i, 1)
        if kind == "errors, steady":
            yield float(a < 0.2)
        elif kind == "errors, abrupt":
            yield float(a < (0.2, 0.35, 0.1, 0.1)[4 * i // n])
        elif kind == "errors, gradual":
            yield float(a < 0.1 + 0.5 * i / n)
        elif kind == "losses, steady":
            yield -math.log(1 - 0.9 * a)
        elif kind == "losses, abrupt":
            yield -math.log(1 - 0.9 * a) * (1.0, 1.6)[3 * i // n % 2]
        elif kind == "sums, abrupt":
            yield a + b - 1 + (0, 0.3, -0.2, 0.1, 0.1)[5 * i // n]
        elif kind == "outliers":
            yield a * (30.0 if b < 0.002 else 1.0)
        elif kind == "constant":
            yield 0.25 if i < n // 2 else 0.75


def wide(o, xs):
    """The window of the paper, which keeps its newer part after an alarm."""
    d, at = AdaptiveWindowing(**o), []
    now = lambda: [d.get_width(), d.get_total() / d.get_width(), d.get_variance() / d.get_width()]  # a sum in river
    for i, x in enumerate(xs):
        if d.update(x):
            at.append([i] + now())
    return {"alarms": at, "width": now()[0], "mean": now()[1], "variance": now()[2]}


def fresh(o, xs):
    """river's own use, which begins anew after an alarm."""
    d, at = ADWIN(**o), []
    for i, x in enumerate(xs):
        d.update(x)
        if d.drift_detected:
            at.append(i)
    return at


def hinkley(o, xs):
    d, at = PageHinkley(**o), []
    for i, x in enumerate(xs):
        d.update(x)
        if d.drift_detected:
            at.append(i)
    return at


KINDS = ["errors, steady", "errors, abrupt", "errors, gradual", "losses, steady", "losses, abrupt", "sums, abrupt",
         "outliers", "constant"]
WINDOWS = [dict(delta=0.002, clock=32, max_buckets=5, min_window_length=5, grace_period=10),
           dict(delta=0.2, clock=1, max_buckets=2, min_window_length=1, grace_period=0),
           dict(delta=0.00001, clock=7, max_buckets=8, min_window_length=20, grace_period=100)]
TESTS = [dict(min_instances=30, delta=0.005, threshold=50.0, alpha=0.9999, mode="both"),
         dict(min_instances=10, delta=0.05, threshold=10.0, alpha=1.0, mode="up"),
         dict(min_instances=100, delta=0.02, threshold=15.0, alpha=0.999, mode="down")]
cases = []
for s, kind in enumerate(KINDS):
    xs = list(stream(kind, s + 1, 12000))
    cases.append({"kind": kind, "seed": s + 1, "n": len(xs), "first": xs[:3], "wide": [wide(o, xs) for o in WINDOWS],
                  "fresh": [fresh(o, xs) for o in WINDOWS], "hinkley": [hinkley(o, xs) for o in TESTS]})
print(json.dumps({"windows": WINDOWS, "tests": TESTS, "cases": cases}, separators=(",", ":")))

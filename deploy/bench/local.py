"""The scores and curves of the local component beside other programs on the same records, in one run.

usage: local.py DATA_DIR [scores] [curves] [RUNS]

scores: the scores of all 16 features from 5,000 bank records (every ninth of bank_full.csv.gz), in both forms, by
BenchmarkBankScores of model/local, which lays out, counts and smooths raw columns; by ReliefF of fast-select, compiled
before the clock starts; and by ReliefF of skrebate, with the neighbours that each has as its default. Ours are at every
value of every feature, theirs one number a feature.
curves: a curve with its three hyperparameters from 1,000 and 2,000 observations, by BenchmarkFit of model/gp and by
GaussianProcessRegressor of scikit-learn, from the same start within the same bounds; the exact log marginal likelihood
on all observations is computed by scikit-learn at both optima.
Prints processor seconds on one core without reading, the median of RUNS (6; skrebate, and scikit-learn at 2,000, two)
with the least and the largest, and how many times faster liftstream is. The programs take turns. Run it in the root of
the repository; needs Go, 'pip install numpy scikit-learn skrebate fast-select', and LIFTSTREAM_SHARED for the benchmarks,
whose folder data is then DATA_DIR.
"""
import csv
import gzip
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "GOMAXPROCS"):
    os.environ[name] = "1"

import numpy as np

DATA = pathlib.Path(sys.argv[1])
RUNS = next((int(a) for a in sys.argv[2:] if a.isdigit()), 6)
PARTS = [a for a in sys.argv[2:] if not a.isdigit()] or ["scores", "curves"]
SLOW = min(RUNS, 2)
MASK = (1 << 64) - 1


def clocked(f):
    start = time.process_time()
    out = f()
    return out, time.process_time() - start


def ours(package, benchmark):
    """The processor seconds of one operation, and all that the benchmark prints."""
    env = dict(os.environ)
    env.setdefault("LIFTSTREAM_SHARED", str(DATA.resolve().parent))
    out = subprocess.run(["go", "test", package, "-run", "^$", "-bench", benchmark, "-benchtime", "300ms"], capture_output=True, text=True, check=True, env=env).stdout
    return float(re.search(r"([\d.e+-]+) cpu-s/op", out)[1]), out


def line(name, seconds, mine=None):
    m = statistics.median(seconds)
    times = "" if mine is None else f"{m / statistics.median(mine):>10.0f}"
    print(f"{name:<34}{m:>12.4f}{min(seconds):>12.4f}{max(seconds):>12.4f}{len(seconds):>6}{times}", flush=True)
    return m


def head(what):
    print(f"{what:<34}{'cpu s':>12}{'least':>12}{'largest':>12}{'runs':>6}{'faster':>10}")


def bank():
    with gzip.open(DATA / "bank_full.csv.gz", "rt") as f:
        names, *rows = csv.reader(f)
    rows = np.array(rows[::9][:5000])
    codes = []
    for c in rows.T:
        try:
            codes.append(c.astype(float))
        except ValueError:
            codes.append(np.unique(c, return_inverse=True)[1].astype(float))
    x = np.array(codes).T
    return names, np.ascontiguousarray(x[:, :-1]), x[:, -1].astype(int)


def scores():
    import fast_select
    import skrebate
    names, x, y = bank()
    fast = lambda rows: fast_select.ReliefF(n_features_to_select=5, backend="cpu", n_jobs=1).fit(x[:rows], y[:rows])
    slow = lambda: skrebate.ReliefF(n_features_to_select=5, n_jobs=1).fit(x, y)
    fast(200)
    seconds = {"hit": [], "balanced": [], "fast-select": [], "skrebate": []}
    for run in range(RUNS):
        for form in ("hit", "balanced"):
            cpu, out = ours("./model/local", f"BankScores/{form}$")
            seconds[form].append(cpu)
            if form == "balanced":
                means = np.array(re.search(r"means \[(.*?)\]", out)[1].split(), float)
        a, cpu = clocked(lambda: fast(len(x)))
        seconds["fast-select"].append(cpu)
        if run < SLOW:
            b, cpu = clocked(slow)
            seconds["skrebate"].append(cpu)
    head("scores, 5,000 x 16")
    line("liftstream, hit", seconds["hit"])
    line("liftstream, balanced", seconds["balanced"])
    mine = max(seconds["hit"], seconds["balanced"], key=statistics.median)
    line("fast-select", seconds["fast-select"], mine)
    line("skrebate", seconds["skrebate"], mine)
    for name, weight in (("liftstream, balanced", means), ("fast-select", a.feature_importances_), ("skrebate", b.feature_importances_)):
        print(f"  best five by {name}:", ", ".join(names[j] for j in np.argsort(-weight, kind="stable")[:5]))


def mix(z):
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def uniform(seed, *words):
    h = mix((seed + 0x9E3779B97F4A7C15) & MASK)
    for w in words:
        h = mix(((h ^ w) + 0x9E3779B97F4A7C15) & MASK)
    return (h >> 11) / (1 << 53)


def observations(n):
    """Those of BenchmarkFit."""
    u = np.array([[uniform(8, i, k) for k in (1, 2, 3)] for i in range(n)])
    return u[:, :1], .5 + .3 * np.sin(9 * u[:, 0]) + .1 * (u[:, 1] + u[:, 2] - 1)


def curves():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    head("curves with hyperparameters")
    for n in (1000, 2000):
        x, y = observations(n)
        kernel = ConstantKernel(.3**2, (.01**2, 10**2)) * RBF(.2, (.01, 10)) + WhiteKernel(.1**2, (.002**2, 1))
        mine, theirs = [], []
        for run in range(RUNS):
            cpu, out = ours("./model/gp", f"Fit/{n}$")
            mine.append(cpu)
            if run < (RUNS if n < 2000 else SLOW):
                model, cpu = clocked(lambda: GaussianProcessRegressor(kernel, alpha=0, random_state=0).fit(x, y - .5))
                theirs.append(cpu)
        p = [float(v) for v in re.search(r"length (\S+) signal (\S+) noise (\S+)", out).groups()]
        got = model.log_marginal_likelihood(np.log([p[1]**2, p[0], p[2]**2]))
        want = model.log_marginal_likelihood_value_
        line(f"liftstream, {n}", mine)
        line(f"scikit-learn, {n}", theirs, mine)
        print(f"  exact log marginal likelihood: liftstream {got:.6f}, scikit-learn {want:.6f}, difference {got - want:+.2e}")


if __name__ == "__main__":
    for part in PARTS:
        {"scores": scores, "curves": curves}[part]()

"""The searches of the lift model beside numpy and pysubgroup on the same records, in one run.

usage: lift.py DATA_DIR [sets] [profiles]

sets: eta of all 1,023 sets of Covertype's ten features (covtype10.csv.gz), by 'liftstream fit' and by numpy; the counts of every set
are compared. profiles: the 100 profiles of up to three features of highest lift above .005 of the records, by the benchmarks of
model/lift, by a vectorised enumeration in numpy, and by pysubgroup's depth-first search (which takes its base rate from all records).
Prints seconds without reading, processor seconds, how many times faster liftstream is in this run, and, for sets, the peak memory of
the whole process of liftstream. Run it in the root of the repository; needs Go, numpy, pandas; pysubgroup for profiles, and
LIFTSTREAM_SHARED for the benchmarks, whose folder data is then DATA_DIR.
"""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd

DATA = pathlib.Path(sys.argv[1])
PARTS = sys.argv[2:] or ["sets", "profiles"]
PROFILES = {"bank_full": "bank_full.csv.gz", "adult_train": "adult_train.csv.gz", "covtype10": "covtype10.csv.gz"}


def numpy_sets(d):
    names = list(d.columns[:10])
    x = np.ascontiguousarray(d[names].to_numpy(float))
    y = d["class"].to_numpy(int) - 1
    c = np.cov(x.T)
    out = {}
    for size in range(1, 11):
        for s in itertools.combinations(range(10), size):
            if size == 1:
                m = x[:, s[0]]
            else:
                w = x[:, s] @ np.linalg.inv(np.linalg.cholesky(c[np.ix_(s, s)])).T
                m = np.einsum("ij,ij->i", w, w)
            level = np.searchsorted(np.quantile(m, [.2, .4, .6, .8]), m, side="left")
            out[tuple(names[i] for i in s)] = np.bincount(level * 7 + y, minlength=35).reshape(5, 7)
    return out


def clocked(f, *a):
    wall, cpu = time.perf_counter(), time.process_time()
    r = f(*a)
    return r, time.perf_counter() - wall, time.process_time() - cpu


def sets():
    path = DATA / "covtype10.csv.gz"
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        d = pd.read_csv(path)
        features = "".join(f"    - {{name: {n}, kind: continuous}}\n" for n in d.columns[:10])
        (tmp / "c.yaml").write_text("name: covertype\nrecord:\n  label: {column: class, classes: ['1', '2', '3', '4', '5', '6', '7']}\n  features:\n"
                                    + features + "lift:\n  sets: {max: 10, search: exhaustive, top: 1023}\n  windows: {top: 10}\n  profiles: {top: 0}\n")
        subprocess.run(["go", "build", "-o", tmp / "liftstream", "./cmd/liftstream"], check=True)
        process = subprocess.Popen([tmp / "liftstream", "fit", "-q", "-c", tmp / "c.yaml", path, "--report", tmp / "r.json"])
        _, status, used = os.wait4(process.pid, 0)
        if status:
            sys.exit("liftstream fit failed")
        r = json.loads((tmp / "r.json").read_text())
    counts, wall, cpu = clocked(numpy_sets, d)
    ours = {tuple(s["features"]): np.array(s["counts"]) for s in r["sets"]}
    wrong = [k for k, v in counts.items() if k not in ours or not np.array_equal(ours[k], v)]
    print(json.dumps({"sets": len(ours), "differing": len(wrong), "liftstream": round(r["seconds"]["lift"], 2),
                      "whole process, cpu, reading included": round(used.ru_utime + used.ru_stime, 2),
                      "peak MB": round(used.ru_maxrss / 1024), "numpy": round(wall, 2), "numpy cpu": round(cpu, 2), "times faster": round(wall / r["seconds"]["lift"], 1)}))


def coded(name):
    d = pd.read_csv(DATA / PROFILES[name], na_values=["?"], keep_default_na=False, skipinitialspace=True) if name != "covtype10" else pd.read_csv(DATA / PROFILES[name])
    d = d.replace("", np.nan)
    y = d.pop("class").astype(str)
    positive = y.value_counts().index[-1]
    frame = {}
    for c in d:
        if d[c].dtype.kind in "if":
            if name == "covtype10":
                cuts = np.unique(np.quantile(d[c], [.25, .5, .75]))
                frame[c] = np.searchsorted(cuts, d[c], side="left")
        else:
            codes = pd.factorize(d[c])[0]
            frame[c] = codes
    return pd.DataFrame(frame), (y == positive).to_numpy()


def numpy_profiles(x, y, support=.005, top=100):
    codes = [x[c].to_numpy() for c in x]
    size = [c.max() + 1 for c in codes]
    lacks = [(c < 0).any() for c in codes]
    best = []
    for k in (1, 2, 3):
        for s in itertools.combinations(range(len(codes)), k):
            at, cells = codes[s[0]], size[s[0]]
            for j in s[1:]:
                at = at * size[j] + codes[j]
                cells *= size[j]
            of = y
            if any(lacks[j] for j in s):
                ok = np.logical_and.reduce([codes[j] >= 0 for j in s])
                at, of = at[ok], y[ok]
            nx = np.bincount(at, minlength=cells)
            nxy = np.bincount(at[of], minlength=cells)
            n, ny = len(at), of.sum()
            hit = np.flatnonzero(nx > support * n)
            best += [(nxy[i] / nx[i] * n / ny, s, i) for i in hit]
    best.sort(key=lambda b: -b[0])
    return best[:top]


def pysubgroup_profiles(x, y):
    import pysubgroup as ps
    frame = x.astype(str).assign(target=y)
    target = ps.BinaryTarget("target", True)
    space = [ps.EqualitySelector(c, v) for c in x for v in frame[c].unique() if v != "-1"]

    class Lift(ps.StandardQF):
        def __init__(self):
            super().__init__(0)

    task = ps.SubgroupDiscoveryTask(frame, target, space, result_set_size=100, depth=3, qf=Lift(), constraints=[ps.MinSupportConstraint(int(.005 * len(x)) + 1)])
    return clocked(lambda: ps.DFS(ps.BitSetRepresentation).execute(task))


def profiles():
    env = dict(os.environ)
    env.setdefault("LIFTSTREAM_SHARED", str(DATA.resolve().parent))
    bench = subprocess.run(["go", "test", "./model/lift", "-run", "XXX", "-bench", "Profiles", "-benchtime", "500ms"], check=True, capture_output=True, text=True, env=env).stdout
    for name in PROFILES:
        m = re.search(rf"BenchmarkProfiles/{name}/0.005\S*\s+\d+\s+([\d.]+) ns/op\s+([\d.e-]+) cpu-s/op", bench)
        x, y = coded(name)
        _, wall, cpu = clocked(numpy_profiles, x, y)
        _, pwall, pcpu = pysubgroup_profiles(x, y)
        ours = float(m[2])
        print(json.dumps({"data": name, "liftstream cpu": ours, "numpy cpu": round(cpu, 3), "pysubgroup cpu": round(pcpu, 3),
                          "times numpy": round(cpu / ours, 1), "times pysubgroup": round(pcpu / ours, 1)}), flush=True)


if __name__ == "__main__":
    for part in PARTS:
        {"sets": sets, "profiles": profiles}[part]()

"""The kernel's linear programme beside HiGHS on the same triples, in one run.

usage: kernel.py DATA_DIR [LIMIT]

Processor seconds, reading and making of matrices apart, of: HiGHS on the whole programme by its simplex and its interior-point
method, each given up after LIMIT seconds (90); HiGHS given the row generation that model/kernel/lp does (in nonneg it holds few
rows and the others keep the side of their hinge; in ridge it adds dominance rows as they are broken); and model/kernel/lp, by its
benchmarks. The instances are those of model/kernel/lp/testdata/golden.json. Ratios are HiGHS's best over ours. Run it in the root of
the repository; needs Go, numpy and highspy, and LIFTSTREAM_SHARED for the benchmarks, whose folder data is then DATA_DIR.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import highspy
import numpy as np

DATA = pathlib.Path(sys.argv[1])
LIMIT = float(sys.argv[2]) if len(sys.argv) > 2 else 90.0
INSTANCES = [("wdbc", 10000, "nonneg"), ("wdbc", 50000, "nonneg"), ("isolet", 1000, "nonneg"), ("wdbc", 1000, "ridge")]
MASK = (1 << 64) - 1
INF = highspy.kHighsInf


def points(name, n):
    path = DATA / (name + ".csv.gz" if (DATA / (name + ".csv.gz")).exists() else name + ".csv")
    raw = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str, max_rows=n)
    x = raw[:, :-1].astype(float)
    sd = x.std(0)
    x = (x - x.mean(0)) / np.where(sd > 0, sd, 1)
    return x, np.unique(raw[:, -1], return_inverse=True)[1]


def triples(seed, n, count, y):
    s, out = seed, []

    def draw():
        nonlocal s
        s = (s + 0x9E3779B97F4A7C15) & MASK
        z = ((s ^ s >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return (z ^ z >> 31) % n

    while len(out) < count:
        a, b, c = draw(), draw(), draw()
        if a == b or b == c or a == c:
            continue
        for i, j, k in ((a, b, c), (a, c, b), (b, c, a)):
            if y[i] == y[j] and y[i] != y[k]:
                out.append((i, j, k))
                break
    return np.array(out)


class Programme:
    """A HiGHS model that grows, with its processor time."""

    def __init__(self, method, limit):
        self.h = highspy.Highs()
        for key, value in (("output_flag", False), ("solver", method), ("threads", 1), ("time_limit", limit)):
            self.h.setOptionValue(key, value)
        self.seconds = 0.0

    def columns(self, cost, lower, upper):
        n = len(cost)
        self.h.addCols(n, np.asarray(cost, float), np.full(n, lower, float), np.full(n, upper, float), 0, np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))

    def rows(self, lower, starts, index, value):
        n = len(lower)
        self.h.addRows(n, np.asarray(lower, float), np.full(n, INF), len(value), np.asarray(starts, np.int32), np.asarray(index, np.int32), np.asarray(value, float))

    def run(self):
        start = time.process_time()
        self.h.run()
        self.seconds += time.process_time() - start
        return self.h.getModelStatus() == highspy.HighsModelStatus.kOptimal

    def values(self):
        return np.array(self.h.getSolution().col_value)

    def objective(self):
        return self.h.getInfo().objective_function_value


def dense(blocks):
    """Rows of a dense matrix with further entries: (matrix, columns, extra columns, extra values)."""
    a, cols, extra, value = blocks
    n = len(a)
    index = np.hstack([np.tile(cols, (n, 1)), extra])
    return np.arange(n) * index.shape[1], index.ravel(), np.hstack([a, value]).ravel()


def nonneg(o, a, group, method, limit, rows=None, fixed=None):
    """min sum eps + gamma sum s + (cost - fixed).alpha over the rows, alpha >= 0."""
    a = a if rows is None else a[rows]
    t, p, f = len(a), a.shape[1], o["F"]
    m = Programme(method, limit)
    m.columns(np.full(p, o["cost_per_unit_alpha"]) - (0 if fixed is None else fixed), 0, INF)
    m.columns(np.full(f, o["gamma1"]), 0, INF)
    m.columns(np.ones(t), 0, INF)
    m.rows(np.zeros(p), 2 * np.arange(p), np.stack([p + group, np.arange(p)], 1).ravel(), np.tile([1., -1.], p))
    m.rows(np.ones(t), *dense((a, np.arange(p), (p + f + np.arange(t))[:, None], np.ones((t, 1)))))
    return m


def value(o, a, group, alpha):
    top = np.zeros(o["F"])
    np.maximum.at(top, group, np.abs(alpha))
    return np.maximum(0, 1 - a @ alpha).sum() + o["gamma1"] * top.sum() + o["cost_per_unit_alpha"] * alpha.sum()


def sifted(o, a, group):
    """Row generation: a quarter of the rows first, four times the weight, then those near their hinges."""
    t, p = a.shape
    seconds, alpha = 0.0, np.zeros(p)
    if t > 3000:
        sub = dict(o, gamma1=o["gamma1"] / 4, cost_per_unit_alpha=o["cost_per_unit_alpha"] / 4)
        alpha, seconds = sifted(sub, a[::4], group)
    r = 1 - a @ alpha
    held = np.full(t, t <= 3000)
    held[np.argsort(np.abs(r), kind="stable")[:max(1500, t // 20)]] = True
    side = r > 0
    while True:
        rows = np.flatnonzero(held)
        m = nonneg(o, a, group, "simplex", LIMIT, rows, a[~held & side].sum(0))
        if not m.run():  # the rows left out pull without end
            held[:] = True
            seconds += m.seconds
            continue
        seconds += m.seconds
        alpha = m.values()[:p]
        wrong = ~held & ((1 - a @ alpha > 0) != side)
        if not wrong.any():
            return alpha, seconds
        held |= wrong


def kernels(o, x):
    return np.stack([np.exp(-mu * (x[:, None, f] - x[None, :, f]) ** 2) for f in range(o["F"]) for mu in o["mus"]], 2)


def ridge(o, a, group, limit, method, k=None):
    """min sum eps + gamma sum s + cost.alpha + cost rho, alpha free; with k all pairs and their bounds stand in it."""
    t, p, f, n = len(a), a.shape[1], o["F"], o["N"]
    m = Programme(method, limit)
    m.columns(np.full(p, o["cost_per_unit_alpha"]), -INF, INF)
    m.columns(np.full(f, o["gamma1"]), 0, INF)
    m.columns([o["cost_per_unit_alpha"]], 0, INF)
    m.columns(np.ones(t), 0, INF)
    for sign in (-1., 1.):
        m.rows(np.zeros(p), 2 * np.arange(p), np.stack([p + group, np.arange(p)], 1).ravel(), np.tile([1., sign], p))
    m.rows(np.ones(t), *dense((a, np.arange(p), (p + f + 1 + np.arange(t))[:, None], np.ones((t, 1)))))
    if k is None:
        return m
    i, j = np.triu_indices(n, 1)
    at = p + f + 1 + t
    m.columns(np.zeros(len(i)), 0, INF)
    pair = np.zeros((n, n), int)
    pair[i, j] = pair[j, i] = at + np.arange(len(i))
    for sign in (-1., 1.):
        m.rows(np.zeros(len(i)), *dense((sign * k[i, j], np.arange(p), (at + np.arange(len(i)))[:, None], np.ones((len(i), 1)))))
    others = np.array([[x for x in range(n) if x != y] for y in range(n)])
    m.rows(np.zeros(n), *dense((k[np.arange(n), np.arange(n)], np.arange(p), np.hstack([np.full((n, 1), p + f), pair[np.arange(n)[:, None], others]]),
                                np.hstack([np.ones((n, 1)), -np.ones((n, n - 1))]))))
    return m


def cut(o, a, group, k):
    """Row generation: dominance rows with the signs of the mixture, warm from one round to the next."""
    p, f, n = a.shape[1], o["F"], o["N"]
    m = ridge(o, a, group, LIMIT, "simplex")
    d = np.arange(n)
    diagonal = k[d, d]
    off = k.copy()
    off[d, d] = 0

    def add(sign, at):
        m.rows(np.zeros(len(at)), *dense((diagonal[at] - np.einsum("ij,ijp->ip", sign[at], off[at]), np.arange(p), np.full((len(at), 1), p + f), np.ones((len(at), 1)))))

    m.rows([0.], np.zeros(1), np.arange(p), diagonal[0])
    add(np.ones((n, n)), d)
    add(-np.ones((n, n)), d)
    while m.run():
        v = m.values()
        kk = off @ v[:p]
        broken = np.flatnonzero(np.abs(kk).sum(1) - diagonal @ v[:p] > v[p + f] + 1e-7)
        if len(broken) == 0:
            break
        add(np.where(kk < 0, -1., 1.), broken)
    return m.objective(), m.seconds


def ours(name):
    out = subprocess.run(["go", "test", "./model/kernel/lp", "-run", "^$", "-bench", f"BenchmarkGolden/{name}$", "-benchtime", "1s"],
                         capture_output=True, text=True, check=True, env=dict(os.environ)).stdout
    return float(re.search(r"([\d.e+-]+) cpu-s/op", out).group(1))


def main():
    golden = json.loads(pathlib.Path("model/kernel/lp/testdata/golden.json").read_text())["instances"]
    print(f"{'instance':<22}{'simplex':>10}{'interior':>10}{'rows':>10}{'ours':>10}{'whole/ours':>12}{'rows/ours':>11}")
    for name, count, mode in INSTANCES:
        o = next(i for i in golden if (i["set"], i["T"], i["mode"]) == (name, count, mode))
        x, y = points(name, o["N"])
        t = triples(o["seed"], o["N"], count, y)
        a = np.hstack([np.exp(-mu * (x[t[:, 0], f] - x[t[:, 1], f]) ** 2)[:, None] - np.exp(-mu * (x[t[:, 0], f] - x[t[:, 2], f]) ** 2)[:, None]
                       for f in range(o["F"]) for mu in o["mus"]])
        group = np.repeat(np.arange(o["F"]), len(o["mus"]))
        assert abs(a.sum() - o["sumA"]) < 1e-8 * abs(o["sumA"]), "other triples than those of golden.json"
        k = kernels(o, x) if mode == "ridge" else None
        whole = {}
        for method in ("simplex", "ipm"):
            m = ridge(o, a, group, LIMIT, method, k) if mode == "ridge" else nonneg(o, a, group, method, LIMIT)
            done = m.run()
            whole[method] = m.seconds if done else None
            assert not done or abs(m.objective() - o["upper"]) < 1e-5 * o["upper"], (m.objective(), o["upper"])
        if mode == "ridge":
            got, rows = cut(o, a, group, k)
        else:
            alpha, rows = sifted(o, a, group)
            got = value(o, a, group, alpha)
        assert abs(got - o["upper"]) < 1e-5 * o["upper"], (got, o["upper"])
        mine = ours(f"{name}_{count}_{mode}")
        best = min((s for s in whole.values() if s is not None), default=None)
        show = [f"{s:.2f}" if s is not None else f">{LIMIT:.0f}" for s in (whole["simplex"], whole["ipm"])]
        ratio = f"{best / mine:.0f}" if best is not None else f">{LIMIT / mine:.0f}"
        print(f"{name + ' ' + str(count) + ' ' + mode:<22}{show[0]:>10}{show[1]:>10}{rows:>10.3f}{mine:>10.4f}{ratio:>12}{rows / mine:>11.1f}", flush=True)


if __name__ == "__main__":
    main()

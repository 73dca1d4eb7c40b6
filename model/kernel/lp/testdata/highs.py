"""Times HiGHS (scipy.optimize.linprog) on the instances of golden.json: the naive programme, and the same row
generation as the package's, by sifting, with HiGHS as the master's solver. Processor seconds of one thread.

    python3 highs.py DATA_FOLDER [SET:T:MODE ...]

Prints one line an instance: seconds and objective of each method. Compare with
`go test -bench Golden ./model/kernel/lp`, which times the package on the same programmes, kernels not counted either.
"""
import csv
import gzip
import json
import os
import sys
import time

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

os.environ.setdefault("OMP_NUM_THREADS", "1")
MASK = (1 << 64) - 1


def triples(y, n, count, seed):
    s = seed
    out = []

    def draw():
        nonlocal s
        s = (s + 0x9E3779B97F4A7C15) & MASK
        z = s
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % n

    while len(out) < count:
        a, b, c = draw(), draw(), draw()
        if len({a, b, c}) < 3:
            continue
        for i, j, k in ((a, b, c), (a, c, b), (b, c, a)):
            if y[i] == y[j] and y[i] != y[k]:
                out.append((i, j, k))
                break
    return np.array(out)


def load(folder, name, n):
    path = os.path.join(folder, name + ".csv")
    f = open(path, newline="") if os.path.exists(path) else gzip.open(path + ".gz", "rt", newline="")
    with f:
        rows = list(csv.reader(f))[1 : n + 1]
    x = np.array([[float(v) for v in r[:-1]] for r in rows])
    sd = x.std(0)
    return (x - x.mean(0)) / np.where(sd > 0, sd, 1), [r[-1] for r in rows]


def kernels(x, i, j, mus):
    d = (x[i] - x[j]) ** 2
    return np.stack([np.exp(-m * d) for m in mus], -1).reshape(len(i), -1)


def value(a, alpha, gamma, cost, width):
    top = np.abs(alpha).reshape(-1, width).max(1).sum()
    return np.maximum(0, 1 - a @ alpha).sum() + gamma * top + cost * alpha.sum()


def solve(c, a_ub, b_ub, bounds, method, limit):
    start = time.process_time()
    r = linprog(c, A_ub=a_ub, b_ub=b_ub, bounds=bounds, method=method, options={"time_limit": limit})
    return time.process_time() - start, r


def nonneg(a, gamma, cost, width, method, rows=None, fixed=None, limit=120):
    """min over alpha >= 0; rows are those with a hinge, fixed those that stay violated."""
    t, p = a.shape
    f = p // width
    rows = np.arange(t) if rows is None else rows
    c = np.full(p, cost)
    if fixed is not None:
        c = c - a[fixed].sum(0)
    m = len(rows)
    single = width == 1
    top = 0 if single else f
    c = np.concatenate([c + (gamma if single else 0), np.full(top, gamma), np.ones(m)])
    hinge = sparse.hstack([sparse.csr_matrix(-a[rows]), sparse.csr_matrix((m, top)), -sparse.eye(m)])
    parts, rhs = [hinge], [-np.ones(m)]
    if not single:
        below = sparse.kron(sparse.eye(f), np.ones((width, 1)))
        parts.append(sparse.hstack([sparse.eye(p), -below, sparse.csr_matrix((p, m))]))
        rhs.append(np.zeros(p))
    return solve(c, sparse.vstack(parts).tocsr(), np.concatenate(rhs), (0, None), method, limit)


def sift(a, gamma, cost, width, method):
    """The rows whose hinge is near its kink, the others on their side, until no row changes sides."""
    t, p = a.shape
    start = time.process_time()
    if t > 3000:
        part = np.random.default_rng(1).permutation(t)[: t // 8]
        _, r = nonneg(a[part], gamma / 8, cost / 8, width, method)
        res = 1 - a @ r.x[:p]
        size = np.abs(res)
        held = size <= np.partition(size, max(1500, t // 10))[max(1500, t // 10)]
    else:
        res, held = np.ones(t), np.ones(t, bool)
    while True:
        up = (res > 0) & ~held
        _, r = nonneg(a, gamma, cost, width, method, np.where(held)[0], np.where(up)[0])
        res = 1 - a @ r.x[:p]
        wrong = ~held & ((res > 0) != up)
        if not wrong.any():
            return time.process_time() - start, r.x[:p]
        held |= wrong


def ridge(x, a, mus, gamma, cost, method):
    """Dominance rows by generation, hinges explicit; the diagonal grows by rho, of the price cost."""
    n, (t, p), width = len(x), a.shape, len(mus)
    f = p // width
    start = time.process_time()
    i, j = np.triu_indices(n, 1)
    k = kernels(x, i, j, mus)

    def separate(alpha):
        v = k @ alpha
        s = np.where(v < 0, -1.0, 1.0)[:, None] * k
        sums = np.zeros((n, p))
        np.add.at(sums, i, s)
        np.add.at(sums, j, s)
        return sums @ alpha - alpha.sum(), sums

    _, plus = separate(np.zeros(p))
    cuts = [np.ones((1, p)), 1 - plus, 1 + plus]
    c = np.concatenate([np.full(p, cost), [cost], np.full(f, gamma), np.ones(t)])
    below = sparse.kron(sparse.eye(f), np.ones((width, 1)))
    zero = sparse.csr_matrix((p, t))
    column = sparse.csr_matrix((p, 1))
    fixed = [sparse.hstack([sparse.csr_matrix(-a), sparse.csr_matrix((t, 1)), sparse.csr_matrix((t, f)), -sparse.eye(t)]),
             sparse.hstack([sparse.eye(p), column, -below, zero]), sparse.hstack([-sparse.eye(p), column, -below, zero])]
    rhs = np.concatenate([-np.ones(t), np.zeros(2 * p)])
    bounds = [(None, None)] * p + [(0, None)] * (1 + f + t)
    best = np.inf
    while True:
        d = np.vstack(cuts)
        rows = sparse.hstack([sparse.csr_matrix(-d), -np.ones((len(d), 1)), sparse.csr_matrix((len(d), f + t))])
        _, r = solve(c, sparse.vstack(fixed + [rows]).tocsr(), np.concatenate([rhs, np.zeros(len(d))]), bounds, method, 120)
        alpha = r.x[:p]
        h, sums = separate(alpha)
        rho = max(h.max(), 0)
        best = min(best, value(a, alpha, gamma, cost, width) + cost * rho)
        new = h > r.x[p] + 1e-9
        if best - r.fun <= 1e-8 * best or not new.any():
            return time.process_time() - start, best
        cuts.append(1 - sums[new])


def main():
    folder, wanted = sys.argv[1], sys.argv[2:]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json")) as f:
        instances = json.load(f)["instances"]
    for o in instances:
        name = "%s:%d:%s" % (o["set"], o["T"], o["mode"])
        if wanted and name not in wanted or o["mode"] == "literal":
            continue
        x, y = load(folder, o["set"], o["N"])
        t = triples(y, o["N"], o["T"], o["seed"])
        a = kernels(x, t[:, 0], t[:, 1], o["mus"]) - kernels(x, t[:, 0], t[:, 2], o["mus"])
        gamma, cost, width = o["gamma1"], o["cost_per_unit_alpha"], len(o["mus"])
        line = [name]
        if o["mode"] == "nonneg":
            for method in ("highs-ds", "highs-ipm"):
                seconds, r = nonneg(a, gamma, cost, width, method)
                if r.x is None:
                    line.append("naive %s unfinished after %.2f s" % (method, seconds))
                    continue
                line.append("naive %s %.2f s F %.9f" % (method, seconds, value(a, r.x[: a.shape[1]], gamma, cost, width)))
            seconds, alpha = min((sift(a, gamma, cost, width, m) for m in ("highs-ds", "highs-ipm")), key=lambda v: v[0])
            line.append("sifted %.2f s F %.9f" % (seconds, value(a, alpha, gamma, cost, width)))
        else:
            seconds, best = min(ridge(x, a, o["mus"], gamma, cost, m) for m in ("highs-ds",))
            line.append("row generation %.2f s F %.9f" % (seconds, best))
        print(" | ".join(line), flush=True)


main()

"""Writes golden.json: the measures of the package by scikit-learn and numpy (1.9, 2.4), on data made by formula.

usage: python3 golden.py > golden.json
"""
import json
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score, brier_score_loss, cohen_kappa_score, log_loss, roc_auc_score, roc_curve

M = (1 << 64) - 1
CLIP = 1e-6


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & M
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & M
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & M
    return x ^ x >> 31


def u(seed, i, k):
    return (mix(mix(seed) + 16 * i + k & M) >> 11) / 2.0**53


def data(case):
    P, y, w = [], [], []
    for i in range(case["n"]):
        raw = [np.floor(u(case["seed"], i, c) * case["grid"]) / case["grid"] for c in range(case["classes"])]
        if case["classes"] == 2:
            raw[0] = 1 - raw[1]
        else:
            raw = [v + 0.01 for v in raw]
            total = 0.0
            for v in raw:
                total += v
            raw = [v / total for v in raw]
        if u(case["seed"], i, 8) < case["signal"]:                       # a class drawn from the propensities
            t, c = u(case["seed"], i, 9), 0
            while c < case["classes"] - 1 and t >= raw[c]:
                t -= raw[c]
                c += 1
        else:
            c = int(u(case["seed"], i, 10) * case["classes"])
        P.append(raw)
        y.append(c)
        w.append(np.floor(u(case["seed"], i, 11) * 8) / 4 if case["weighted"] else 1.0)
    return np.array(P), np.array(y), np.array(w)


def top(p, y, w, share, weighted):
    want = share * w.sum()
    if not weighted:
        want = max(1, np.floor(want + 1e-9))
    n = pos = score = 0.0
    for v in np.unique(p)[::-1]:
        m = p == v
        part = min(1, (want - n) / w[m].sum()) if w[m].sum() else 0
        n, pos, score = n + part * w[m].sum(), pos + part * w[m & y].sum(), score + part * w[m].sum() * v
        if n >= want:
            break
    return n, pos, score / n


def ece(p, y, w, bins=20):
    values = np.unique(p)
    mass = np.array([w[p == v].sum() for v in values])
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bin_of = np.minimum(bins - 1, (bins * middle).astype(int))
    b = bin_of[np.searchsorted(values, p)]
    return sum(abs((w * (p - y))[b == k].sum()) for k in range(bins)) / w.sum()


def binary(p, y, w, weighted):
    fpr, tpr, _ = roc_curve(y, p, sample_weight=w, drop_intermediate=False)
    z = np.clip(p, CLIP, 1 - CLIP)
    lr = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-13, max_iter=1000).fit(np.log(z / (1 - z))[:, None], y, sample_weight=w)
    base = (w * y).sum() / w.sum()
    lift = {}
    for s in (0.01, 0.05, 0.1, 0.2):
        n, pos, _ = top(p, y, w, s, weighted)
        lift[repr(s)] = pos / n / base
    return {
        "auc": roc_auc_score(y, p, sample_weight=w), "average_precision": average_precision_score(y, p, sample_weight=w),
        "ks": float(np.max(np.abs(tpr - fpr))), "calibration_error": ece(p, y, w),
        "calibration_slope": float(lr.coef_[0, 0]), "calibration_intercept": float(lr.intercept_[0]), "lift_at": lift,
    }


def auc(P, y, w):
    k = P.shape[1]
    if k == 2:
        return roc_auc_score(y == 1, P[:, 1], sample_weight=w) if 0 < (w * (y == 1)).sum() < w.sum() else None
    a = [roc_auc_score(y == c, P[:, c], sample_weight=w) for c in range(k) if 0 < (w * (y == c)).sum() < w.sum()]
    return float(np.mean(a)) if a else None


def interval(loss, w, seed):
    n = len(w)
    length = max(1, min(1000, n // 50))
    starts = [i for i in range(0, n, length) if i == 0 or n - i >= (length + 1) // 2]
    ends = starts[1:] + [n]
    L = np.array([(w * loss)[a:b].sum() for a, b in zip(starts, ends)])
    W = np.array([w[a:b].sum() for a, b in zip(starts, ends)])
    B, means = len(starts), []
    for rep in range(2000):
        base = mix((seed + mix(rep)) & M)
        j = [mix((base + k) & M) * B >> 64 for k in range(B)]
        if W[j].sum() > 0:
            means.append(L[j].sum() / W[j].sum())
    return [float(v) for v in np.quantile(means, [0.025, 0.975])]


def measure(case):
    P, y, w = data(case)
    k = case["classes"]
    Q = np.clip(P[np.arange(len(y)), y], CLIP, 1 - CLIP)
    loss = -np.log(Q)
    out = {
        "log_loss": float((w * loss).sum() / w.sum()), "accuracy": accuracy_score(y, P.argmax(1), sample_weight=w),
        "brier": brier_score_loss(y if k > 2 else y == 1, P if k > 2 else P[:, 1], sample_weight=w, labels=list(range(k)) if k > 2 else None),
        "log_loss_interval": interval(loss, w, 7), "kappa": cohen_kappa_score(y, P.argmax(1), sample_weight=w),
    }
    if k == 2:
        ll = log_loss(y, np.clip(P, CLIP, 1 - CLIP), sample_weight=w)
        assert abs(ll - out["log_loss"]) < 1e-12, ll
    blocks = [auc(P[a:a + 1000], y[a:a + 1000], w[a:a + 1000]) for a in range(0, max(1, len(y) - 999), 1000)]
    out["auc_blocks"] = float(np.mean([b for b in blocks if b is not None]))
    one = [binary(P[:, c], y == c, w, case["weighted"]) for c in ([1] if k == 2 else range(k))]
    for name in one[0]:
        if name == "lift_at":
            out[name] = {s: float(np.mean([o[name][s] for o in one])) for s in one[0][name]}
        else:
            out[name] = float(np.mean([o[name] for o in one]))
    gains = []
    if k == 2:
        p, t = P[:, 1], y == 1
        for s in (0.05, 0.5, 1.0):
            n, pos, score = top(p, t, w, s, case["weighted"])
            gains.append({"share": s, "n": n, "positives": pos, "capture": pos / w[t].sum(), "lift": pos / n / (w[t].sum() / w.sum()), "mean_propensity": score})
    return {**case, "metrics": out, "gains": gains}


CASES = [
    {"name": "fine scores", "n": 3500, "classes": 2, "grid": 2**40, "signal": 0.9, "seed": 1, "weighted": False},
    {"name": "many ties", "n": 2999, "classes": 2, "grid": 20, "signal": 0.6, "seed": 2, "weighted": False},
    {"name": "weights, some zero", "n": 2500, "classes": 2, "grid": 1000, "signal": 0.8, "seed": 3, "weighted": True},
    {"name": "few", "n": 60, "classes": 2, "grid": 10, "signal": 0.7, "seed": 4, "weighted": False},
    {"name": "three classes", "n": 2200, "classes": 3, "grid": 200, "signal": 0.7, "seed": 5, "weighted": False},
    {"name": "four classes, weights", "n": 1500, "classes": 4, "grid": 50, "signal": 0.8, "seed": 6, "weighted": True},
]
print(json.dumps([measure(c) for c in CASES], indent=1))

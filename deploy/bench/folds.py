#!/usr/bin/env python3
"""Models of files beside others, in ten folds: liftstream with everything and the lift alone, its plain nearest
neighbours on standardised features (`knn`), and scikit-learn's random forest (500 trees) and LightGBM, both with their
defaults, fitted to the same folds. Accuracy with its standard error over the folds, log-loss, and liftstream with
everything less the other with its paired 95 % interval, which does not allow for models that share records.

Sets: SHARED/oracles/folds. Needs lightgbm, pandas and scikit-learn; isolet40 has 617 features and takes an hour.
"""

import subprocess

import numpy as np
import pandas as pd

import beside
import streams

SETS = ["wdbc", "wine", "ionosphere", "syn_wide1", "syn_narrow1", "isolet40"]


def peers():
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import RandomForestClassifier

    return {
        "LightGBM": (LGBMClassifier(n_jobs=1, random_state=1, verbose=-1), ["lightgbm"]),
        "random forest": (RandomForestClassifier(500, n_jobs=1, random_state=1), ["scikit-learn"]),
    }


def fitted(stream, fold, model):
    x, p = stream.features().drop(columns="fold").to_numpy(float), np.zeros((len(fold), len(stream.classes)))
    for k in np.unique(fold):
        out = fold == k
        model.fit(x[~out], stream.y[~out])
        p[np.ix_(out, model.classes_)] = model.predict_proba(x[out])
    return p


def liftstream(bench, stream, method):
    """The propensities of a method in the folds of the column `fold`."""

    def compute():
        config = bench.configuration(stream)
        lines = config.read_text().splitlines()
        config.write_text("\n".join(line for line in lines if "name: fold," not in line) + "\n")
        out = stream.path.with_suffix(".scores.csv")
        subprocess.run(
            [bench.args.liftstream, "eval", "-q", "-c", config, stream.path, "--protocol", "folds",
             "--fold-column", "fold", "--method", method, "--scores", out],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        s = pd.read_csv(out, usecols=["source_row", *(f"propensity_{c}" for c in stream.classes)])
        out.unlink()
        p = s.set_index("source_row")[[f"propensity_{c}" for c in stream.classes]].sort_index()
        assert (p.index.to_numpy() == np.arange(len(stream.y))).all(), "a score for each record"
        return p.to_numpy()

    settings = {"build": bench.build, "protocol": "folds", "as_init": bench.args.as_init}
    return bench.run(stream, "liftstream " + method, settings, compute)


def main():
    parser = beside.arguments(__doc__, skip=0)
    parser.add_argument("--method", action="append", help="of liftstream: all, lift and knn unless given")
    bench = beside.Bench(parser.parse_intermixed_args())
    args = bench.args
    beside.head("set", "program", "accuracy", "log-loss", "everything less it", "")
    sets = {n: lambda shared, n=n: streams.read(shared / "oracles/folds" / f"{n}.csv.gz") for n in SETS}
    for name, frame in streams.chosen(sets, args.names, args.shared, args.records):
        s = bench.stream(name, frame)
        fold = frame.fold.to_numpy()
        runs = {}
        if bench.build:
            runs = {m: liftstream(bench, s, m) for m in args.method or ["all", "lift", "knn"]}
        for peer, (model, packages) in peers().items():
            settings = {"protocol": "folds", **beside.versions(*packages)}
            runs[peer] = bench.run(s, peer, settings, lambda model=model: fitted(s, fold, model))
        for program, r in runs.items():
            right = np.array([r.right[fold == k].mean() for k in np.unique(fold)])
            accuracy = f"{beside.plain(r.accuracy)} +- {beside.plain(right.std(ddof=1) / np.sqrt(len(right)))}"
            d = runs["all"].less(r) if "all" in runs and program != "all" else None
            cells = (beside.difference(d), beside.mark(d)) if d else ("", "")
            beside.row(name, program, accuracy, beside.plain(r.log_loss), *cells)
    beside.remarks(bench)


main()

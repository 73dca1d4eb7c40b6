#!/usr/bin/env python3
"""Is what liftstream publishes true? Each part measures one promise with the command line alone, and prints the bound.

usage: truth.py LIFTSTREAM SHARED [PART[:COUNT | :DATA,...]] ...

LIFTSTREAM is the built program, SHARED the folder with data/ and oracles/folds/. Without parts all of them run, in this
order; COUNT is explained where a part has one, and DATA are the names of data sets of noise, downstream,
interleaved and streams. Needs Python 3 with numpy, pandas and scikit-learn, and river for its generators and data sets.

noise       three continuous and two nominal columns of noise beside bank (without duration), adult, telco and
            elec2: the share of records whose subspace has each, in a stage that learns as it goes (`eval --scores`)
            and from files (`fit`, `score`); and poutcome in the subspaces of the bank records with success
planted     recall and precision of the subspaces on the two synthetic families of which the features of each record
            are known
downstream  scikit-learn's logistic regression and gradient boosting, fed all features, the published subspaces, or
            as many globally best features, trained on earlier records and tested on later ones; see downstream()
interleaved the same in five random folds of the records, where what drifts does not count
files       bank: `score` of the fitted file; five folds of bank in file order and shuffled, of adult in file order
flat        every mix of one to three features without a real-valued one, with and without signal: three folds of
            all less lift; COUNT is the largest size of a file (20000)
order       files sorted by label, upwards and downwards, and shuffled: is it the same model, byte for byte
rare        one positive in a thousand records: mean propensity of a file's model beside the rate
streams     prequential log-loss and AUC on four streams: at once, labels 1,000 late, six partitions
permuted    COUNT (24) files whose labels are chance: intervals of profiles above 1, and scores that carry a profile
covered     COUNT (300) files with one true profile of lift 2: does the interval of the first shown profile cover
            its truth
zip         a true feature of two levels beside four of 200 levels that say nothing: the sets by rank
weights     all weights times 100: largest difference of a score, in a stream and of a file
monotone    neighbouring queries on bank and three made-up sets with propensity.monotone: how many turn
reasons     reasons of the bank stream whose effect contradicts the lift beside it, as configured and with sign:
            follow
init        public sets without leaks: what `init` takes out, and what that costs against all features
"""

import collections
import gzip
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Threads that wait for one another only cost.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import pandas as pd

BINARY, SHARED = sys.argv[1], pathlib.Path(sys.argv[2])
TMP = tempfile.TemporaryDirectory()
FOLDER = pathlib.Path(TMP.name)


def run(*args, fails=False):
    p = subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True)
    if p.returncode and not fails:
        sys.exit(f"{' '.join(map(str, args))}: status {p.returncode}: {p.stderr.strip()}")
    return p if fails else p.stdout


def read(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def bank():
    return read(SHARED / "data/bank_full.csv.gz").drop(columns="duration"), "yes"


def adult():
    return (
        pd.concat(
            [read(SHARED / "data/adult_train.csv.gz"), read(SHARED / "data/adult_test.csv.gz")], ignore_index=True
        ),
        ">50K",
    )


def telco():
    return read(SHARED / "data/telco_churn.csv").drop(columns="customerID"), "Yes"


def elec2():
    return read(SHARED / "data/elec2.csv.gz"), "UP"


STREAMS = {"bank": bank, "adult": adult, "telco": telco, "elec2": elec2}


def rbf(n=20_000):
    from river.datasets import synth

    rows = [
        {**{f"f{k}": v for k, v in x.items()}, "class": "yes" if t else "no"}
        for x, t in itertools.islice(synth.RandomRBF(seed_model=1, seed_sample=1, n_features=10, n_centroids=30), n)
    ]
    return pd.DataFrame(rows).astype(str), "yes"


def save(frame, name):
    path = FOLDER / f"{name}.csv"
    frame.to_csv(path, index=False)
    return path


def configure(path, name, positive=None, extra="", keep=True, drop=()):
    """What `init` writes, without 'use: never' if keep, without the columns of drop, and with extra lines."""
    text = run("init", "-q", path, "--label", "class", *(["--positive", positive] if positive else []))
    lines = []
    for line in text.splitlines():
        column = re.search(r"- \{name: \"?([^,\"]*)\"?,", line)
        if column and column[1] in drop:
            continue
        lines.append(line.replace(", use: never", "") if keep else line)
    config = FOLDER / f"{name}.yaml"
    config.write_text("\n".join(lines) + "\n" + extra)
    return config


def kinds(config):
    return {m[1]: m[2] for m in re.finditer(r"^    - \{name: \"?([^,\"]*)\"?, kind: (\w+)", config.read_text(), re.M)}


def rows_of(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def stream_scores(config, path, name, *flags):
    out = FOLDER / f"{name}.jsonl"
    figures = json.loads(
        run("eval", "-q", "-c", config, path, "--method", "all", "--scores", out, "--json", "-", *flags)
    )
    return sorted(rows_of(out), key=lambda s: s["source_row"]), figures


def file_scores(config, path, name, other=None):
    model, out = FOLDER / f"{name}.model", FOLDER / f"{name}.jsonl"
    run("fit", "-q", "-c", config, path, "--model", model)
    run("score", "-q", "-c", config, "--model", model, other or path, "--out", out)
    return rows_of(out)


def folds(config, path, *flags, k=5, method="all"):
    methods = [x for m in ([method] if isinstance(method, str) else method) for x in ("--method", m)]
    return json.loads(
        run("eval", "-q", "-c", config, path, "--protocol", "folds", "--folds", k, "--json", "-", *methods, *flags)
    )["methods"]


def say(*cells):
    print(*cells, flush=True)


def subspaces(scores):
    return [s["subspace"] or [] for s in scores if s["status"] != "untrained"]


def noise(data=STREAMS):
    say("noise: each at most 5 % of the records; poutcome in at least 95 % of those with success")
    for name in data:
        frame, positive = STREAMS[name]()
        rng = np.random.default_rng(7)
        n = len(frame)
        label = frame.pop("class")
        extra = {
            "noise_normal": np.round(rng.normal(size=n), 4),
            "noise_uniform": np.round(rng.random(n), 4),
            "noise_skewed": np.round(rng.exponential(size=n), 4),
            "noise_three": np.char.add("l", rng.integers(0, 3, n).astype(str)),
            "noise_twenty": np.char.add("l", rng.integers(0, 20, n).astype(str)),
        }
        frame = frame.assign(**extra, **{"class": label})
        path = save(frame, name)
        config = configure(path, name, positive)
        for how in ("stream", "file"):
            scores = stream_scores(config, path, name)[0] if how == "stream" else file_scores(config, path, name)
            sets = subspaces(scores)
            seen = collections.Counter(f for s in sets for f in s)
            shares = {f: seen[f] / len(sets) for f in extra}
            line = (
                f"{name:6s} {how:7s} features a record {sum(map(len, sets)) / len(sets):5.2f}, empty"
                f" {sum(not s for s in sets) / len(sets):.3f}; "
                + " ".join(f"{f[6:]} {v:.4f}" for f, v in shares.items())
            )
            if name == "bank":
                success = frame["poutcome"].to_numpy() == "success"
                at = [s for s in scores if s["status"] != "untrained" and success[s["source_row"]]]
                line += (
                    f"; poutcome where success {np.mean(['poutcome' in (s['subspace'] or []) for s in at]):.4f} of"
                    f" {len(at)}"
                )
            say(line, "" if max(shares.values()) <= 0.05 else "  <-- more than 5 %")


def planted():
    say("planted: recall and precision of the published subspaces at least .50, models that have not seen the record")
    for name in ("syn_wide1", "syn_narrow1"):
        path = SHARED / f"oracles/folds/{name}.csv.gz"
        with gzip.open(SHARED / f"oracles/folds/{name}_truth.json.gz") as f:
            truth = json.load(f)
        frame = read(path)
        names = [c for c in frame if c not in ("class", "fold")]
        config = configure(path, name, drop=["fold"])
        scores, _ = stream_scores(config, path, name, "--protocol", "folds", "--fold-column", "fold")
        hit = chosen = wanted = 0
        for s in scores:
            true = {names[j] for j in truth[s["source_row"]]}
            got = set(s["subspace"] or [])
            hit, chosen, wanted = hit + len(true & got), chosen + len(got), wanted + len(true)
        say(
            f"{name:12s} recall {hit / wanted:.3f} precision {hit / max(chosen, 1):.3f}, {chosen / len(scores):.1f}"
            f" features a record of {len(names)}, {wanted / len(scores):.1f} true"
        )


CLASSIFIED = ("bank", "adult", "telco", "elec2", "rbf", "syn_wide1")


def interleaved(data=CLASSIFIED):
    downstream(data, True)


def downstream(data=CLASSIFIED, mixed=False):
    """Protocol. Streams (bank, adult, telco, elec2, random RBF): the subspace of every record is published by a
    stage that learns as it goes, before the record's label is known (`eval --scores`). A classifier is trained on
    the records before a point and tested on those after it, at four points: .2, .4, .6 and .8 of the stream, each
    tested on the next fifth. syn_wide1: ten folds; subspaces come from a model that was not fitted to the record,
    the classifier is trained on the other folds.

    All has every feature. Subspace has the values of the record's own subspace; every other feature is null. Global
    has the m features of the highest mutual information with the class on the training records, bias taken off
    (numbers in 16 quantile bins), m the mean size of their subspaces. A null is NaN to the boosting; to the
    logistic regression it is the mean of a number or no level, and each feature has an indicator that it is there.
    Settings are scikit-learn's, 100 trees without early stopping, and 1,000 iterations of L-BFGS. Differences have
    95 % intervals of a bootstrap of blocks of 250 records (folds: single records); training sets of different
    points overlap, which they ignore.

    Interleaved: five random folds of the records in place of the four points; the subspaces are the same.
    """
    say("downstream: log-loss; subspace within .005 of all on five of six, better than global on four of six")
    say(
        "| data | classifier | all | global (features) | subspace (features) | subspace less all | subspace less global"
        " |\n|---|---|---|---|---|---|---|"
    )
    near, better = collections.Counter(), collections.Counter()
    for name in data:
        folded = name == "syn_wide1"
        if folded:
            path, positive = SHARED / "oracles/folds/syn_wide1.csv.gz", None
            frame = read(path)
            config = configure(path, name, drop=["fold"])
            scores, _ = stream_scores(config, path, name, "--protocol", "folds", "--fold-column", "fold")
            fold = frame.pop("fold").to_numpy()
            parts = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in sorted(set(fold))]
        else:
            frame, positive = rbf() if name == "rbf" else STREAMS[name]()
            path = save(frame, name)
            config = configure(path, name, positive)
            scores, _ = stream_scores(config, path, name)
            n = len(frame)
            ready = np.array([s["status"] != "untrained" for s in scores])
            if mixed:
                fold = np.where(ready, np.random.default_rng(11).integers(0, 5, n), -1)
                parts = [(np.flatnonzero(ready & (fold != f)), np.flatnonzero(fold == f)) for f in range(5)]
            else:
                cuts = [int(n * k / 5) for k in range(1, 6)]
                parts = [(np.flatnonzero(ready[:a]), np.arange(a, b)) for a, b in zip(cuts, cuts[1:])]
        classes = sorted(set(frame["class"]))
        y = frame["class"].map({c: k for k, c in enumerate(classes)}).to_numpy()
        kind = kinds(config)
        names = list(kind)
        mask = np.zeros((len(frame), len(names)), bool)
        at = {f: j for j, f in enumerate(names)}
        for s in scores:
            for f in s["subspace"] or []:
                mask[s["source_row"], at[f]] = True
        x, nominal = values(frame, names, kind)
        losses = collections.defaultdict(list)
        tested, chosen, sizes = [], [], []
        for train, test in parts:
            m = max(1, round(mask[train].sum(1).mean()))
            best = np.argsort(
                [-information(x[train, j], nominal[j], y[train], len(classes)) for j in range(len(names))],
                kind="stable",
            )[:m]
            several = np.zeros_like(mask)
            several[:, best] = True
            chosen.append(m)
            sizes.append(mask[test].sum(1).mean())
            tested.append(test)
            for what, seen in (("all", np.ones_like(mask)), ("global", several), ("subspace", mask)):
                for classifier, fit in CLASSIFIERS.items():
                    p = fit(x, nominal, seen, y, train, test, len(classes))
                    losses[classifier, what].append(-np.log(np.clip(p[np.arange(len(test)), y[test]], 1e-6, 1)))
        for classifier in CLASSIFIERS:
            of = {what: np.concatenate(losses[classifier, what]) for what in ("all", "global", "subspace")}
            cells = []
            for other in ("all", "global"):
                d = of["subspace"] - of[other]
                cells.append(f"{short(d.mean())} {interval(d, 1 if folded or mixed else 250)}")
            near[classifier] += (of["subspace"] - of["all"]).mean() <= 0.005
            better[classifier] += (of["subspace"] - of["global"]).mean() < 0
            say(
                f"| {name} | {classifier} | {short(of['all'].mean())} | {short(of['global'].mean())}"
                f" ({np.mean(chosen):.0f}) | {short(of['subspace'].mean())} ({np.mean(sizes):.1f}) |"
                f" {' | '.join(cells)} |"
            )
    for classifier in CLASSIFIERS:
        say(
            f"{classifier}: within .005 of all on {near[classifier]} of {len(data)}, better than global on"
            f" {better[classifier]} of {len(data)}"
        )


def short(v):
    return re.sub(r"^(-?)0\.", r"\1.", f"{v:.4f}").replace("-.0000", ".0000")


def interval(d, block):
    means = np.array([d[a : a + block].mean() for a in range(0, len(d), block)])
    rng = np.random.default_rng(1)
    draws = means[rng.integers(0, len(means), (2000, len(means)))].mean(1)
    return f"[{short(np.quantile(draws, .025))}, {short(np.quantile(draws, .975))}]"


MISSING = ("", "NA", "?")


def values(frame, names, kind):
    x, nominal = np.full((len(frame), len(names)), np.nan), []
    for j, f in enumerate(names):
        text = frame[f].where(~frame[f].isin(MISSING) & (frame[f].str.strip() != ""))
        nominal.append(kind[f] != "continuous")
        if nominal[-1]:
            codes = pd.factorize(text, sort=True)[0].astype(float)
            x[:, j] = np.where(codes < 0, np.nan, codes)
        else:
            x[:, j] = pd.to_numeric(text, errors="coerce")
    return x, np.array(nominal)


def information(v, nominal, y, classes):
    """Mutual information in nats with the Miller-Madow correction."""
    there = ~np.isnan(v)
    if nominal:
        cell = np.where(there, v, -1).astype(int) + 1
    else:
        cuts = np.unique(np.quantile(v[there], np.linspace(0, 1, 17)[1:-1])) if there.any() else []
        cell = np.where(there, np.searchsorted(cuts, v, side="left") + 1, 0)
    n = np.bincount(cell * classes + y, minlength=(cell.max() + 1) * classes).reshape(-1, classes)
    total = n.sum()
    h = lambda c: -sum(k / total * math.log(k / total) for k in c if k) + (sum(k > 0 for k in c) - 1) / 2 / total
    return h(n.sum(0)) + h(n.sum(1)) - h(n.ravel())


def logistic(x, nominal, seen, y, train, test, classes):
    import scipy.sparse as sp
    from sklearn.linear_model import LogisticRegression

    there = ~np.isnan(x) & seen
    parts = []
    for j in range(x.shape[1]):
        on = there[:, j]
        if nominal[j]:
            rows = np.flatnonzero(on)
            parts.append(
                sp.csr_matrix(
                    (np.ones(len(rows)), (rows, x[rows, j].astype(int))),
                    shape=(len(x), int(np.nanmax(x[:, j], initial=0)) + 1),
                )
            )
        else:
            known = x[train, j][~np.isnan(x[train, j])]
            sd = known.std() if len(known) else 0
            parts.append(
                sp.csr_matrix(np.where(on, (x[:, j] - (known.mean() if len(known) else 0)) / (sd or 1), 0)[:, None])
            )
        if not on.all():
            parts.append(sp.csr_matrix(on[:, None].astype(float)))
    design = sp.hstack(parts).tocsr()
    m = LogisticRegression(max_iter=1000).fit(design[train], y[train])
    return spread(m, m.predict_proba(design[test]), classes)


def boosting(x, nominal, seen, y, train, test, classes):
    from sklearn.ensemble import HistGradientBoostingClassifier

    masked = np.where(seen, x, np.nan)
    some = ~np.isnan(masked[train]).all(0)  # what is nowhere in the training records cannot be used
    masked, nominal = masked[:, some], nominal[some]
    few = [j for j in range(masked.shape[1]) if nominal[j] and np.nanmax(masked[:, j], initial=0) < 250]
    m = HistGradientBoostingClassifier(
        max_iter=100, early_stopping=False, random_state=0, categorical_features=few or None
    ).fit(masked[train], y[train])
    return spread(m, m.predict_proba(masked[test]), classes)


def spread(m, p, classes):
    out = np.zeros((len(p), classes))
    out[:, m.classes_.astype(int)] = p
    return out


CLASSIFIERS = {"logistic regression": logistic, "gradient boosting": boosting}


def files():
    frame, positive = bank()
    path = save(frame, "bank")
    config = configure(path, "bank", positive)
    scores = file_scores(config, path, "bank")
    p, rate = np.mean([s["propensity_yes"] for s in scores]), (frame["class"] == "yes").mean()
    say(
        f"files: bank, fit then score of the same file: mean propensity {p:.4f}, rate {rate:.4f} (within .005):"
        f" {p - rate:+.4f}"
    )
    ordered = folds(config, path)["all"]
    mixed = folds(config, save(frame.sample(frac=1, random_state=1), "bank_shuffled"))["all"]
    say(
        f"files: bank, five folds: in file order {ordered['log_loss']:.4f} (at most .290), shuffled"
        f" {mixed['log_loss']:.4f} (within .003): {ordered['log_loss'] - mixed['log_loss']:+.4f}"
    )
    frame, positive = adult()
    path = save(frame, "adult")
    m = folds(configure(path, "adult", positive), path)["all"]
    say(
        f"files: adult, five folds in file order: {m['log_loss']:.4f}, AUC {m['auc']:.4f} (ahead of the build before by"
        " .005)"
    )


def flat(count=20_000):
    say("flat: three folds of all less lift, at most .003")
    path = save(
        pd.DataFrame(
            {
                "f0": np.char.add("l", np.random.default_rng(3).integers(0, 5, 20_000).astype(str)),
                "class": np.where(np.random.default_rng(4).random(20_000) < 0.3, "yes", "no"),
            }
        ),
        "flat",
    )
    level = collections.defaultdict(list)
    frame = read(path)
    for s in file_scores(configure(path, "flat", "yes"), path, "flat"):
        level[frame["f0"][s["source_row"]]].append(s["propensity_yes"])
    say(
        "flat: one feature of five levels, P = .3 in each (within .01):",
        " ".join(f"{k} {np.mean(v):.4f}" for k, v in sorted(level.items())),
    )
    makers = {
        "nominal": lambda rng, n: np.char.add("l", rng.integers(0, 5, n).astype(str)),
        "binary": lambda rng, n: np.char.add("b", rng.integers(0, 2, n).astype(str)),
        "integer": lambda rng, n: rng.integers(0, 6, n).astype(str),
    }
    worst = collections.defaultdict(lambda: (-1.0, ""))
    over = total = 0
    for n in (600, 2000, 6000, 20_000):
        if n > count:
            continue
        mixes = [m for k in (1, 2, 3) for m in itertools.combinations_with_replacement(makers, k)]
        if n == 20_000:
            mixes = [m for m in mixes if len(set(m)) == len(m)]
        for mix, signal in itertools.product(mixes, (False, True)):
            rng = np.random.default_rng([n, len(mix), signal, *map(list(makers).index, mix)])
            columns = {f"f{k}": makers[m](rng, n) for k, m in enumerate(mix)}
            z = sum((pd.factorize(c, sort=True)[0] % 3 - 1) * 0.8 for c in columns.values()) if signal else 0
            y = rng.random(n) < 1 / (1 + np.exp(0.85 - z * np.ones(n)))
            path = save(pd.DataFrame({**columns, "class": np.where(y, "yes", "no")}), "mix")
            m = folds(configure(path, "mix", "yes"), path, k=3, method=["all", "lift"])
            d = m["all"]["log_loss"] - m["lift"]["log_loss"]
            total += 1
            over += d > 0.003
            worst[n, signal] = max(worst[n, signal], (d, " ".join(mix)))
        say(
            f"flat: {n:6d} records, {len(mixes)} mixes: worst without signal {worst[n, False][0]:+.4f}"
            f" ({worst[n, False][1]}), with {worst[n, True][0]:+.4f} ({worst[n, True][1]})"
        )
    say(f"flat: more than .003 behind in {over} of {total}")


def order():
    say("order: the same model whatever the order of the rows")
    votes = read(SHARED / "data/house_votes84.csv"), "republican"
    few, positive = bank()
    for name, (frame, positive) in {
        "votes": votes,
        "bank, each fourth": (few[::4].reset_index(drop=True), positive),
        "telco": telco(),
    }.items():
        slug = name.split(",")[0]
        config = configure(save(frame, slug), slug, positive)
        base = dict(zip(range(len(frame)), file_scores(config, save(frame, slug), slug)))
        want = (FOLDER / f"{slug}.model").read_bytes()
        for how, rows in {
            "by label": frame.sort_values("class", kind="stable").index,
            "by label, downwards": frame.sort_values("class", kind="stable", ascending=False).index,
            "shuffled": frame.sample(frac=1, random_state=2).index,
        }.items():
            got = file_scores(config, save(frame.loc[rows], "sorted"), "sorted", FOLDER / f"{slug}.csv")
            same = (FOLDER / "sorted.model").read_bytes() == want
            d = max(abs(s[k] - base[s["source_row"]][k]) for s in got for k in s if k.startswith("propensity_"))
            say(
                f"order: {name:18s} {how:20s} {'the same bytes' if same else 'other bytes'}, largest difference of a"
                f" score {d:.2e}"
            )


def rare():
    rng = np.random.default_rng(5)
    n = 60_000
    x = rng.normal(size=(n, 3))
    job = rng.integers(0, 6, n)
    z = x[:, 0] + 0.7 * x[:, 1] + 0.4 * (job == 2)
    y = rng.random(n) < np.exp(z - np.log(np.mean(np.exp(z))) + math.log(0.001))
    frame = pd.DataFrame(
        {
            **{f"x{k}": np.round(x[:, k], 4) for k in range(3)},
            "job": np.char.add("j", job.astype(str)),
            "class": np.where(y, "yes", "no"),
        }
    )
    path = save(frame, "rare")
    p = np.mean([s["propensity_yes"] for s in file_scores(configure(path, "rare", "yes"), path, "rare")])
    say(f"rare: {y.sum()} positives of {n}: mean propensity {p:.6f}, rate {y.mean():.6f}, ratio {p / y.mean():.3f}")


def streams(data=STREAMS):
    say("streams: prequential log-loss / AUC of the whole stage")
    for name in data:
        frame, positive = STREAMS[name]()
        path = save(frame, name)
        config = configure(path, name, positive)
        cells = []
        for flags in ((), ("--delay", "1000"), ("--partitions", "6")):
            m = json.loads(run("eval", "-q", "-c", config, path, "--method", "all", "--json", "-", *flags))["methods"][
                "all"
            ]
            cells.append(f"{' '.join(flags) or 'at once'} {m['log_loss']:.4f} / {m['auc']:.4f}")
        say(f"{name:6s}", "   ".join(cells))


def permuted(count=24):
    above = significant = carried = scored = 0
    first = []
    for r in range(count):
        rng = np.random.default_rng(100 + r)
        n = 4000
        columns = {
            f"a{k}": np.char.add("l", rng.integers(0, levels, n).astype(str))
            for k, levels in enumerate((2, 2, 3, 3, 4, 4, 5, 6, 8, 10))
        }
        columns |= {f"z{k}": np.round(rng.normal(size=n), 4) for k in range(4)}
        path = save(pd.DataFrame({**columns, "class": np.where(rng.random(n) < 0.12, "yes", "no")}), "noise")
        if r == 0:
            config = configure(path, "noise", "yes", 'lift: {profiles: {of: ["yes"]}}\n')
        run("fit", "-q", "-c", config, path, "--report", FOLDER / "noise.json", "--model", FOLDER / "noise.model")
        shown = json.loads((FOLDER / "noise.json").read_text())["profiles"]
        above += any((p.get("validated_low") or 0) > 1 for p in shown)
        significant += any(p.get("q_value") is not None and p["q_value"] <= 0.05 for p in shown)
        if shown and shown[0].get("validated_lift") is not None:
            first.append(shown[0]["validated_lift"])
        run("score", "-q", "-c", config, "--model", FOLDER / "noise.model", path, "--out", FOLDER / "noise.jsonl")
        scores = rows_of(FOLDER / "noise.jsonl")
        carried += sum(bool(s["profile"]) for s in scores)
        scored += len(scores)
    say(
        f"permuted: {count} files: a shown interval wholly above 1 in {above} (at most 2 of 24); a q-value of at most"
        f" .05 in {significant}; scores with a profile {carried / scored:.4f} (at most .01); mean validated lift of the"
        f" first shown {np.mean(first):.2f}"
    )


def covered(count=300):
    levels = {"a": 3, "b": 4, "c": 2, "d": 3, "e": 5, "f": 6}
    rate, share = 0.12, 1 / (levels["a"] * levels["b"])
    inside = 2 * rate
    outside = (rate - inside * share) / (1 - share)
    n = 6000
    hits = shown_any = true_first = above = below = 0
    for r in range(count):
        rng = np.random.default_rng(10_000 + r)
        codes = {f: rng.integers(0, k, n) for f, k in levels.items()}
        p = np.where((codes["a"] == 0) & (codes["b"] == 0), inside, outside)
        path = save(
            pd.DataFrame(
                {
                    **{f: np.char.add("l", c.astype(str)) for f, c in codes.items()},
                    "class": np.where(rng.random(n) < p, "yes", "no"),
                }
            ),
            "one",
        )
        if r == 0:
            config = configure(
                path,
                "one",
                "yes",
                'lift: {profiles: {of: ["yes"]}}\nlocal: {enabled: false}\nkernel: {enabled: false}\n',
            )
            if run("lint", config, fails=True).returncode:
                config = configure(path, "one", "yes", 'lift: {profiles: {of: ["yes"]}}\n')
        run("fit", "-q", "-c", config, path, "--report", FOLDER / "one.json")
        shown = [
            x for x in json.loads((FOLDER / "one.json").read_text())["profiles"] if x.get("validated_low") is not None
        ]
        if not shown:
            continue
        first = shown[0]
        part = 1.0
        for f in ("a", "b"):
            part *= (first["profile"][f] == "l0") if f in first["profile"] else 1 / levels[f]
        truth = (outside + (inside - outside) * part) / rate
        shown_any += 1
        true_first += set(first["profile"]) == {"a", "b"} and part == 1
        hits += first["validated_low"] <= truth <= first["validated_high"]
        above += first["validated_low"] > truth
        below += first["validated_high"] < truth
    say(
        f"covered: {count} files: a profile is shown in {shown_any}, the true one first in {true_first}; its interval"
        f" covers the truth in {hits} = {hits / max(shown_any, 1):.3f} (at least .93), lies above in {above}, below in"
        f" {below}"
    )


def zip_():
    rng = np.random.default_rng(1)
    n = 5000
    s, z = rng.integers(0, 2, n), [rng.integers(0, 200, n) for _ in range(4)]
    y = rng.random(n) < np.where(s == 1, 0.4, 0.15)
    path = save(
        pd.DataFrame(
            {
                "s": np.array(list("ab"))[s],
                **{f"zip{k}": np.char.add("q", v.astype(str)) for k, v in enumerate(z)},
                "class": np.where(y, "yes", "no"),
            }
        ),
        "zip",
    )
    run("fit", "-q", "-c", configure(path, "zip", "yes"), path, "--report", FOLDER / "zip.json")
    sets = json.loads((FOLDER / "zip.json").read_text())["sets"]
    say(
        "zip: the true feature s leads:",
        "; ".join(f"{'+'.join(x['features'])} eta {x['eta']:.3f} corrected {x['eta_corrected']:.3f}" for x in sets[:4]),
    )


def weights():
    frame, positive = adult()
    frame = frame[:8000].copy()
    label = frame.pop("class")
    for name, make in {
        "all 1": lambda n: np.ones(n),
        "1 to 3": lambda n: np.random.default_rng(6).integers(1, 4, n).astype(float),
    }.items():
        w = make(len(frame))
        scores = {}
        for by in (1, 100):
            path = save(frame.assign(w=w * by, **{"class": label}), f"w{by}")
            config = configure(path, f"w{by}", positive, drop=["w"])
            config.write_text(config.read_text().replace("record:\n", "record:\n  weight: w\n", 1))
            if by == 100:
                config.write_text((FOLDER / "w1.yaml").read_text())
            scores[by] = stream_scores(config, path, f"w{by}")[0], file_scores(config, path, f"w{by}")
        for k, how in enumerate(("stream", "file")):
            d = max(
                abs(a[c] - b[c]) for a, b in zip(scores[1][k], scores[100][k]) for c in a if c.startswith("propensity_")
            )
            other = sum(a["subspace"] != b["subspace"] for a, b in zip(scores[1][k], scores[100][k]))
            say(
                f"weights: adult, 8,000 records, weights {name}, times 100, {how}: largest difference {d:.2e} (at most"
                f" 1e-9), other subspaces {other}"
            )


def monotone():
    sets = {}
    frame, positive = bank()
    sets["bank"] = frame, positive, {"balance": 1, "campaign": -1, "previous": 1, "age": 1}
    rng = np.random.default_rng(8)
    n = 4000
    x = rng.normal(size=(n, 5))
    truths = {
        "interaction": x[:, 0] - x[:, 1] + 1.5 * x[:, 0] * (x[:, 2] > 0),
        "clusters": (
            3 * np.exp(-((x - 0.7) ** 2).sum(1) / 3) - 3 * np.exp(-((x + 0.7) ** 2).sum(1) / 3) + np.sin(3 * x[:, 0])
        ),
        "wave": 2 * np.sin(2 * x[:, 0]) * np.cos(2 * x[:, 1]) + x[:, 0] / 2,
    }
    for name, z in truths.items():
        y = rng.random(n) < 1 / (1 + np.exp(1 - z))
        sets[name] = (
            pd.DataFrame(
                {**{f"x{k}": np.round(x[:, k], 2).astype(str) for k in range(5)}, "class": np.where(y, "yes", "no")}
            ),
            "yes",
            {"x0": 1, "x1": -1},
        )
    turned = asked = 0
    for name, (frame, positive, way) in sets.items():
        path = save(frame, name)
        config = configure(
            path,
            name,
            positive,
            "propensity: {monotone: {%s}}\n" % ", ".join(f"{f}: {'up' if d > 0 else 'down'}" for f, d in way.items()),
        )
        pick = np.random.default_rng(9)
        low = frame.iloc[pick.integers(0, len(frame), 5000)].reset_index(drop=True)
        high = low.copy()
        feature = pick.choice(list(way), len(low))
        for f in way:
            steps = np.unique(frame[f].astype(float))
            at = np.flatnonzero(feature == f)
            v = low.loc[at, f].astype(float).to_numpy()
            up = steps[np.minimum(np.searchsorted(steps, v) + 1, len(steps) - 1)]
            high.loc[at, f] = [f"{u:g}" for u in up]
        model = FOLDER / f"{name}.model"
        run("fit", "-q", "-c", config, path, "--model", model)
        p = []
        for k, queries in enumerate((low, high)):
            out = FOLDER / "queries.jsonl"
            run("score", "-q", "-c", config, "--model", model, save(queries, "queries"), "--out", out)
            p.append(np.array([s[f"propensity_{positive}"] for s in rows_of(out)]))
        d = (p[1] - p[0]) * np.array([way[f] for f in feature])
        turned, asked = turned + (d < -1e-12).sum(), asked + len(d)
        say(
            f"monotone: {name:12s} {(d < -1e-12).sum()} of {len(d)} neighbouring queries turn, by up to"
            f" {max(0, -d.min()):.4f}; {np.mean(d > 0):.2f} move"
        )
    say(f"monotone: {turned} of {asked} turn (none should)")


def reasons():
    frame, positive = bank()
    path = save(frame, "bank")
    for sign in ("", "follow"):
        config = configure(path, "bank", positive, "propensity: {sign: %s}\n" % sign if sign else "")
        if sign and run("lint", config, fails=True).returncode:
            say("reasons: sign: follow is not known to this build")
            continue
        scores, figures = stream_scores(config, path, "bank")
        against = strong = small = 0
        for s in scores:
            for w in s["why"] or []:
                if w["lift"] and abs(w["effect"]) > 0.1:
                    strong += 1
                    against += w["effect"] * math.log(w["lift"]) < 0
                elif w["lift"] and abs(w["effect"]) > 1e-9:
                    small += w["effect"] * math.log(w["lift"]) < 0
        say(
            f"reasons: bank stream, {'sign: follow' if sign else 'as configured'}: {against} of {strong} ="
            f" {against / max(strong, 1):.4f} with |effect| > .1 contradict their lift (at most .02; none with follow),"
            f" {small} of the smaller ones; log-loss {figures['methods']['all']['log_loss']:.4f}"
        )


def init():
    from river import datasets
    from sklearn import datasets as sk

    sets = {
        f.stem: read(f)
        for f in (
            SHARED / "data" / f"{n}.csv"
            for n in (
                "house_votes84",
                "wdbc",
                "ionosphere",
                "iris",
                "wine",
                "pima_diabetes",
                "balance_scale",
                "soybean_small",
                "protein_xing",
            )
        )
    }
    for name, d in {
        "ImageSegments": datasets.ImageSegments(),
        "Phishing": datasets.Phishing(),
        "Bananas": datasets.Bananas(),
    }.items():
        sets[name] = pd.DataFrame([{**x, "class": y} for x, y in d]).astype(str)
    digits = sk.load_digits(as_frame=True)
    sets["digits"] = digits.data.astype(str).assign(**{"class": [f"d{t}" for t in digits.target]})
    for name, load in STREAMS.items():
        sets[name] = load()[0]
    say(
        "init: nothing is taken out of sets without leaks; five folds of lift, what init writes less all features (.002"
        " of log-loss or .01 of accuracy)"
    )
    for name, frame in sets.items():
        path = save(frame, name)
        written, whole = configure(path, name, keep=False), configure(path, name + ".all")
        never = re.findall(r"name: \"?([^,\"]*)\"?, kind: \w+, use: never", written.read_text())
        if not never:
            say(f"init: {name:16s} nothing is taken out of {len(kinds(whole))}")
            continue
        a, b = folds(written, path, method="lift")["lift"], folds(whole, path, method="lift")["lift"]
        say(
            f"init: {name:16s} takes out {', '.join(never)}: log-loss {a['log_loss'] - b['log_loss']:+.4f}, accuracy"
            f" {a['accuracy'] - b['accuracy']:+.4f}"
        )


PARTS = {
    "noise": noise,
    "planted": planted,
    "downstream": downstream,
    "interleaved": interleaved,
    "files": files,
    "flat": flat,
    "order": order,
    "rare": rare,
    "streams": streams,
    "permuted": permuted,
    "covered": covered,
    "zip": zip_,
    "weights": weights,
    "monotone": monotone,
    "reasons": reasons,
    "init": init,
}


def main():
    for part in sys.argv[3:] or PARTS:
        name, _, of = part.partition(":")
        if name not in PARTS:
            sys.exit(f"{name}: it is one of {', '.join(PARTS)}")
        PARTS[name](*([int(of) if of.isdigit() else of.split(",")] if of else []))


main()

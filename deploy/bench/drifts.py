#!/usr/bin/env python3
"""Streams of river that change and that do not: the alarms, and the log-loss of each fixed memory.

usage: drifts.py LIFTSTREAM FOLDER [NAME...] [--method lift] [--fixed 200 1000 5000 0]

Streams are drawn into FOLDER once, with seeds that no other script has: 20 of 100,000 records that do not change, of
two to ten classes, a rare class, missing values and 2 to 50 features, and 16 of 40,000 records that do, at record
20,300 where at once. A row has the log-loss of the configuration that `init` writes, the alarms of the watch and the
places that ADWIN finds in the losses (how many, and how many records after the change the first one came), and with
--fixed the log-loss with one half-life in place of the five (0 = never forget). Results are kept in FOLDER by name and
setting: remove them for another build.
"""

import argparse
import csv
import itertools
import json
import pathlib
import random
import subprocess

from river.datasets import synth as s

AT = 20_300  # the record of an abrupt change


def sea(variant, seed, noise=0.1):
    return s.SEA(variant=variant, seed=seed, noise=noise)


def agrawal(function, seed, perturbation=0.05):
    return s.Agrawal(classification_function=function, seed=seed, perturbation=perturbation)


def plane(seed, features, change=0.0, noise=0.05):
    moving = features if change else 0
    return s.Hyperplane(
        seed=seed, n_features=features, n_drift_features=moving, mag_change=change, noise_percentage=noise
    )


def rbf(seed, features, classes=2):
    return s.RandomRBF(
        seed_model=seed, seed_sample=seed + 1, n_features=features, n_classes=classes, n_centroids=30
    )


def moving_rbf(seed, features, classes, speed):
    return s.RandomRBFDrift(
        seed_model=seed, seed_sample=seed + 1, n_features=features, n_classes=classes, n_centroids=20,
        n_drift_centroids=20, change_speed=speed,
    )  # fmt: skip


def led(seed):
    return s.LED(seed=seed, noise_percentage=0.1, irrelevant_features=True)


def other_led(seed):
    return s.LEDDrift(seed=seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=7)


def abrupt(before, after):
    return itertools.chain(itertools.islice(iter(before), AT), iter(after))


def gradual(before, after):
    return s.ConceptDriftStream(before, after, position=20_000, width=10_000, seed=91)


def recurring(every, *streams):
    turns = [iter(x) for x in streams]
    for i in itertools.count():
        yield next(turns[(i // every) % len(turns)])


# name: (stream, options): thin = keep this share of a class, missing = lose this share of the values.
STABLE = {
    "sea0": (sea(0, 811), {}), "sea2n": (sea(2, 812, 0.25), {}), "sea1rare": (sea(1, 813), {"thin": ("True", 0.03)}),
    "sea3miss": (sea(3, 814), {"missing": 0.2}), "agr0": (agrawal(0, 821), {}), "agr3": (agrawal(3, 822), {}),
    "agr5miss": (agrawal(5, 823), {"missing": 0.1}), "agr7": (agrawal(7, 824), {}),
    "agr8rare": (agrawal(8, 825), {"thin": ("1", 0.05)}), "agr9p": (agrawal(9, 826, 0.3), {}),
    "hyp2": (plane(831, 2), {}), "hyp10": (plane(832, 10), {}), "hyp50": (plane(833, 50, 0.0, 0.1), {}),
    "hyp10rare": (plane(834, 10), {"thin": ("1", 0.02)}), "rbf5": (rbf(841, 5), {}), "rbf10c4": (rbf(842, 10, 4), {}),
    "rbf40": (rbf(843, 40), {}), "rbf6c3miss": (rbf(844, 6, 3), {"missing": 0.15}), "led": (led(851), {}),
    "wave": (s.Waveform(seed=861, has_noise=True), {}),
}  # fmt: skip
CHANGING = {
    "abrupt-sea": (abrupt(sea(0, 911), sea(3, 912)), {}), "abrupt-agr": (abrupt(agrawal(0, 913), agrawal(2, 914)), {}),
    "abrupt-agr-miss": (abrupt(agrawal(4, 915), agrawal(1, 916)), {"missing": 0.1}),
    "abrupt-hyp": (abrupt(plane(917, 10), plane(927, 10)), {}),
    "abrupt-hyp2": (abrupt(plane(921, 2), plane(931, 2)), {}),
    "abrupt-rbf4": (abrupt(rbf(918, 8, 4), rbf(928, 8, 4)), {}), "abrupt-led": (abrupt(led(919), other_led(920)), {}),
    "abrupt-sea-rare": (abrupt(sea(0, 922), sea(3, 923)), {"thin": ("True", 0.1)}),
    "gradual-sea": (gradual(sea(1, 941), sea(2, 942)), {}),
    "gradual-agr": (gradual(agrawal(6, 943), agrawal(4, 944)), {}),
    "gradual-hyp": (plane(945, 10, 0.001), {}), "gradual-rbf3": (moving_rbf(946, 8, 3, 0.0005), {}),
    "recurring-sea": (recurring(5000, sea(0, 951), sea(3, 952)), {}),
    "recurring-agr": (recurring(7000, agrawal(0, 953), agrawal(4, 954)), {}),
    "recurring-hyp": (recurring(4000, plane(955, 10), plane(965, 10)), {}),
    "recurring-rbf3": (recurring(6000, rbf(956, 8, 3), rbf(966, 8, 3)), {}),
}  # fmt: skip


def draw(path, name):
    """The records of a stream, and where its change is: a thinned one has fewer before it."""
    stream, options = {**STABLE, **CHANGING}[name]
    rng, thin, missing = random.Random(1), options.get("thin"), options.get("missing", 0.0)
    source = iter(stream) if name in STABLE else itertools.islice(iter(stream), 40_000)
    n, change = 0, AT
    with path.open("w", newline="") as f:
        out = None
        for i, (x, y) in enumerate(source):
            if name in STABLE and n == 100_000:
                break
            if i == AT:
                change = n
            if thin and str(y) == thin[0] and rng.random() > thin[1]:
                continue
            row = {f"f{k}": "" if missing and rng.random() < missing else v for k, v in x.items()}
            row["class"] = f"c{y}"
            if out is None:
                out = csv.DictWriter(f, list(row))
                out.writeheader()
            out.writerow(row)
            n += 1
    path.with_suffix(".at").write_text(str(change))


def evaluated(args, name, half_life=None):
    data = args.folder / (name + ".csv")
    if not data.exists():
        draw(data, name)
    kept = args.folder / f"{name}.{args.method}.{half_life}.json"
    if not kept.exists():
        init = [args.liftstream, "init", "-q", data, "--label", "class"]
        text = subprocess.run(init, check=True, capture_output=True, text=True).stdout
        if half_life is not None:
            text += f"\npropensity: {{half_lives: [{half_life}]}}\n"
        config = kept.with_suffix(".yaml")
        config.write_text(text)
        run = [args.liftstream, "eval", "-q", "-c", config, data, "--method", args.method, "--json", kept]
        subprocess.run(run, check=True, capture_output=True)
    return json.loads(kept.read_text())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("liftstream")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--method", default="all")
    parser.add_argument("--fixed", nargs="*", type=int, default=[])
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    print("| stream | log-loss | alarms | first | places | first |", *(f" {h} |" for h in args.fixed), sep="")
    print("|---|---|---|---|---|---|", "---|" * len(args.fixed), sep="")
    for name in args.names or [*STABLE, *CHANGING]:
        r = evaluated(args, name)
        change = int((args.folder / (name + ".at")).read_text()) if name.startswith("abrupt") else None
        cells = [f"{r['methods'][args.method]['log_loss']:.4f}"]
        for found in r["alarms"], r["drift_points"]:
            places = [x["at"] for x in found]
            first = [x - change for x in places if x > change][:1] if change else []
            cells += [str(len(places)), *map(str, first or [""])]
        for h in args.fixed:
            cells.append(f"{evaluated(args, name, h)['methods'][args.method]['log_loss']:.4f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


main()

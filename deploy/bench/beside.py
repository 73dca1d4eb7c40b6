"""Programs beside each other on the same records: the command line of the scripts, the losses of each record, kept
or computed, and paired intervals.

A run is known by a digest of the records and by its method, settings and versions. `--keep FOLDER` keeps the losses
of its records there, so that programs that did not change are not run again; figures.json of that folder has the
figures of all runs that were asked for.
"""

import argparse
import hashlib
import importlib.metadata
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import pandas as pd

CLIP = 1e-6  # of propensities, as `liftstream eval` clips them
DRAWS = 2000


def arguments(doc, skip=1000):
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("liftstream", metavar="LIFTSTREAM", help="the built program; - runs the others alone")
    p.add_argument("shared", metavar="SHARED", help="folder with data/; a set that is not there is skipped")
    p.add_argument("names", metavar="NAME", nargs="*", help="a stream; all of them if none is named")
    p.add_argument("--records", type=int, help="at most the first RECORDS of each stream")
    p.add_argument("--keep", type=pathlib.Path, help="folder for losses that are used again")
    p.add_argument("--skip", type=int, default=skip, help="do not count the first SKIP records (default %(default)s)")
    p.add_argument("--as-init", action="store_true", help="leave out the features that `init` leaves out")
    return p


class Stream:
    """The records of a stream, as a file and as arrays."""

    def __init__(self, name, frame, folder):
        self.name, self.frame = name, frame
        self.path = pathlib.Path(folder) / (re.sub(r"\W+", "_", name).strip("_") + ".csv")
        frame.to_csv(self.path, index=False)
        self.digest = hashlib.sha256(self.path.read_bytes()).hexdigest()[:12]
        self.classes = sorted(frame["class"].unique())
        self.y = frame["class"].map({c: k for k, c in enumerate(self.classes)}).to_numpy()

    def features(self):
        return self.frame.drop(columns="class")


def versions(*packages):
    return {p: importlib.metadata.version(p) for p in packages}


class Labels:
    """When labels come: the records in the order of their labels, and how many of these are known as record i is
    scored, by i. Without `known` each comes delay records late, as `liftstream eval --delay` has it."""

    def __init__(self, n, delay=0, order=None, known=None):
        self.order = np.arange(n) if order is None else order
        self.known = np.maximum(np.arange(n) - delay, 0) if known is None else known


class Bench:
    """What one call of a script needs: its arguments, a folder for files, and the kept losses."""

    def __init__(self, args):
        self.args, self.tmp = args, tempfile.TemporaryDirectory()
        self.left_out = {}
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
        self.build = None
        if args.liftstream != "-":
            out = subprocess.run([args.liftstream, "version"], check=True, capture_output=True, text=True).stdout
            self.build = hashlib.sha256(pathlib.Path(args.liftstream).read_bytes()).hexdigest()[:12]
            self.version = ", ".join(" ".join(line.split()) for line in out.splitlines()[:2])

    def stream(self, name, frame):
        return Stream(name, frame, self.tmp.name)

    def run(self, stream, method, settings, compute):
        """The propensities [records x classes] of a method, kept or computed."""
        key = hashlib.sha256(json.dumps([method, settings], sort_keys=True).encode()).hexdigest()[:12]
        file = self.args.keep and self.args.keep / f"{stream.path.stem}-{stream.digest}-{key}.npz"
        if file and file.exists():
            p = np.load(file)["p"].astype(float)
        else:
            kept = compute().astype(np.float32)  # as it is read again
            if file:
                np.savez_compressed(file, p=kept, method=method, settings=json.dumps(settings))
            p = kept.astype(float)
        run = Run(stream, p, self.args.skip)
        if self.args.keep:
            book = self.args.keep / "figures.json"
            figures = json.loads(book.read_text()) if book.exists() else {}
            name = f"{stream.name} | {stream.digest} | {method} | {key}"
            if method.startswith("liftstream"):
                self.left_out.setdefault(stream.name, figures.get(name, {}).get("left_out", []))
            figures[name] = {
                "stream": stream.name, "records": len(stream.y), "skipped": self.args.skip, "method": method,
                "settings": settings, "left_out": self.left_out.get(stream.name, []),
                "log_loss": run.log_loss, "accuracy": run.accuracy,
            }  # fmt: skip
            book.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
        return run

    def configuration(self, stream, *more):
        """The configuration that `init` writes, with the lines of more at its end. Features that it leaves out because
        they tell too much stay in unless --as-init is given: the other programs see them as well."""
        command = [self.args.liftstream, "init", str(stream.path), "--label", "class"]
        if len(stream.classes) == 2 and "yes" in stream.classes:
            command += ["--positive", "yes"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.left_out[stream.name] = re.findall(r"name: ([^,}]+)[^\n]*use: never", out)
        if not self.args.as_init:
            out = out.replace(", use: never", "")
        path = pathlib.Path(self.tmp.name) / f"{stream.path.stem}.yaml"
        path.write_text("\n".join([out, *more, "output: {why: 0}", ""]))
        return path

    def liftstream(self, stream, method="all", delay=0, propensity=(), sections=()):
        """Liftstream's run of a stream, prequential; propensity are lines of that section, sections lines of the
        configuration."""

        def compute():
            more = ["propensity: {" + ", ".join(propensity) + "}"] if propensity else []
            config = self.configuration(stream, *more, *sections)
            out = stream.path.with_suffix(".scores.csv")
            subprocess.run(
                [self.args.liftstream, "eval", "-q", "-c", config, stream.path, "--method", method,
                 "--delay", str(delay), "--skip", str(self.args.skip), "--scores", out],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            s = pd.read_csv(out, usecols=["source_row", *(f"propensity_{c}" for c in stream.classes)])
            out.unlink()
            assert (s.source_row.to_numpy() == np.arange(len(stream.y))).all(), "a score for each record, in order"
            return s[[f"propensity_{c}" for c in stream.classes]].to_numpy()

        settings = {"build": self.build, "delay": delay, "propensity": list(propensity), "as_init": self.args.as_init}
        if sections:
            settings["sections"] = list(sections)
        return self.run(stream, "liftstream " + method, settings, compute)


def blocks(n):
    """The first records of the blocks of n records that the bootstrap draws."""
    size = max(1, min(1000, n // 50))
    starts = np.arange(0, n, size)
    if n - starts[-1] < (size + 1) // 2 and len(starts) > 1:
        starts = starts[:-1]
    return starts


def draws(starts):
    """The blocks of each resample."""
    return np.random.default_rng(1).integers(0, len(starts), (DRAWS, len(starts)))


class Run:
    """The losses of one method on the records that count."""

    def __init__(self, stream, p, skip):
        self.p, y = p, stream.y
        p = np.clip(p / p.sum(1, keepdims=True), CLIP, 1 - CLIP)
        self.loss = -np.log(p[np.arange(len(y)), y])[skip:]
        self.right = (p.argmax(1) == y)[skip:]
        self.log_loss, self.accuracy = float(self.loss.mean()), float(self.right.mean())

    def less(self, other):
        """Log-loss less that of another on the same records, and its 95 % interval by a bootstrap of blocks of
        consecutive records, a fiftieth of them and at most 1,000 (as model/evaluate draws them)."""
        d = self.loss - other.loss
        starts = blocks(len(d))
        total, count = np.add.reduceat(d, starts), np.diff(np.append(starts, len(d)))
        draw = draws(starts)
        low, high = np.quantile(total[draw].sum(1) / count[draw].sum(1), [0.025, 0.975])
        return float(d.mean()), float(low), float(high)


def plain(v):
    """A figure of four digits without its zero; never -.0000."""
    s = f"{v:.4f}"
    if float(s) == 0:
        return ".0000"
    return s.replace("0.", ".", 1) if abs(v) < 1 else s


def difference(d):
    return f"{plain(d[0])} [{plain(d[1])}, {plain(d[2])}]"


def mark(d):
    """Whether liftstream loses: in brackets where its loss is larger, but the interval holds 0."""
    return "behind" if d[1] > 0 else "(behind)" if d[0] > 0 else ""


def head(*cells):
    print("| " + " | ".join(cells) + " |\n|" + "---|" * len(cells), flush=True)


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def remarks(bench):
    """Says which features `init` leaves out, and of which build the figures are."""
    for name, features in bench.left_out.items():
        if features:
            what = "are left out here, too" if bench.args.as_init else "stay in here"
            print(f"\n`init` leaves out of {name}: {', '.join(features)}; they {what}.")
    if bench.build:
        counted = f"the first {bench.args.skip:,} records are not counted" if bench.args.skip else "all records count"
        print(f"\n{bench.version}, its bytes {bench.build}; {counted}.", flush=True)

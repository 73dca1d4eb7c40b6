"""The groups of speed.py: the programs that are measured beside each other, and all that they need."""

import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOA = "2024.07.0"
POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>speed</groupId><artifactId>speed</artifactId><version>1</version>
<dependencies><dependency>
<groupId>nz.ac.waikato.cms.moa</groupId><artifactId>moa</artifactId><version>{}</version>
</dependency></dependencies></project>
"""
ONE = {f"{n}_NUM_THREADS": "1" for n in ("OPENBLAS", "OMP", "MKL", "NUMBA")}


def sha256(file):
    """In blocks: the peak memory of a child is at least that of this process as it begins."""
    h = hashlib.sha256()
    with open(file, "rb") as f:
        while block := f.read(1 << 20):
            h.update(block)
    return h.hexdigest()


class Program:
    """One line of a group. run does it once and returns its figures: cpu and, unless it is not known, wall in seconds,
    records of a group that counts them, memory in bytes."""

    def __init__(self, name, run=None, ours=False, goal="", most=1 << 30, missing=None, log_loss=None, on_these=None):
        self.name, self.run, self.ours, self.goal, self.most, self.missing = name, run, ours, goal, most, missing
        self.log_loss, self.on_these = log_loss, on_these
        self.runs, self.versions = [], {}

    def record(self):
        losses = [r.pop("log_loss") for r in self.runs if "log_loss" in r]
        return {
            "name": self.name,
            "ours": self.ours,
            "goal": self.goal,
            "missing": self.missing,
            "versions": self.versions,
            "log_loss": self.log_loss if self.log_loss is not None else losses[0] if losses else None,
            "ours_on_these": self.on_these,
            "runs": [{k: round(v, 7) if isinstance(v, float) else v for k, v in r.items()} for r in self.runs],
        }


class Group:
    def __init__(self, name, title, shape, per, against, programs, note=""):
        self.name, self.title, self.shape, self.per = name, title, shape, per
        self.against, self.programs, self.note = against, programs, note


class Work:
    """The folder of the prepared programs and data; each is made when it is first asked for."""

    def __init__(self, folder, shared):
        self.folder, self.shared, self.data = folder, shared, shared / "data"
        self.built = {}
        folder.mkdir(parents=True, exist_ok=True)

    def python(self):
        """The interpreter of the peers, with the pinned packages."""
        wanted = (HERE / "requirements-speed.txt").read_text()
        venv, mark = self.folder / "venv", self.folder / "venv.txt"
        if not mark.exists() or mark.read_text() != wanted:
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
            pip = [venv / "bin/pip", "install", "-q", "--disable-pip-version-check"]
            subprocess.run([*pip, "-r", HERE / "requirements-speed.txt"], check=True)
            subprocess.run([*pip, "--no-deps", "skrebate==0.8.4", "pysubgroup==0.9.0"], check=True)
            mark.write_text(wanted)
        return venv / "bin/python3"

    def peer(self, data, name, *arguments):
        """The figures of one run of speed_peers.py. The kernel of OpenBLAS is the one that it chooses by itself."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")} | ONE
        command = [self.python(), HERE / "speed_peers.py", data, name, *map(str, arguments)]
        out = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
        return json.loads(out.splitlines()[-1])

    def once(self, key, make):
        if key not in self.built:
            self.built[key] = make()
        return self.built[key]

    def benchmarks(self, package):
        """The test program of a package."""

        def build():
            out = self.folder / (package.strip("./").replace("/", "-") + ".test")
            subprocess.run(["go", "test", "-c", "-o", out, package], check=True, cwd=ROOT)
            return out

        return self.once(package, build)

    def bench(self, package, pattern, count="1x", **env):
        """The figures of a Go benchmark by unit, and the peak memory of its process, its data included."""
        env = {**os.environ, "LIFTSTREAM_SHARED": str(self.shared), **{k: str(v) for k, v in env.items()}}
        command = [self.benchmarks(package), "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", count]
        with tempfile.TemporaryFile("w+") as out:
            child = subprocess.Popen(command, cwd=ROOT / package, env=env, stdout=out, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            said = out.read()
        line = re.search(r"^Benchmark\S*\s+\d+\s+(.*)$", said, re.M)
        if status or not line:
            raise RuntimeError(f"{package} {pattern}: {said}")
        cells = line[1].split()
        figures = {u: float(v) for v, u in zip(cells[::2], cells[1::2])}
        return {**figures, "memory": used.ru_maxrss * 1024}

    def liftstream(self):
        def build():
            out = self.folder / "liftstream"
            subprocess.run(["go", "build", "-o", out, "./cmd/liftstream"], check=True, cwd=ROOT)
            return out

        return self.once("liftstream", build)

    def bank(self):
        """The bank records as a file, and a configuration that does not see `duration`."""

        def make():
            file, config = self.folder / "bank.csv", self.folder / "bank.yaml"
            with gzip.open(self.data / "bank_full.csv.gz") as f, open(file, "wb") as out:
                shutil.copyfileobj(f, out)
            given = subprocess.run(
                [self.liftstream(), "init", file, "--label", "class", "--positive", "yes"],
                check=True, capture_output=True, text=True,
            ).stdout  # fmt: skip
            config.write_text(re.sub(r"(name: duration, kind: continuous)}", r"\1, use: never}", given))
            return file, config

        return self.once("bank", make)

    def losses(self, method):
        """The losses of all bank records in a stream with fits, and its figures; kept by the bytes of the program."""
        file, config = self.bank()
        digest = sha256(self.benchmarks("./cmd/liftstream"))[:12]
        kept, figures = (self.folder / f"stream-{method}-{digest}.{e}" for e in ("txt", "json"))
        if not figures.exists():
            f = self.bench("./cmd/liftstream", f"SpeedStream/{method}$", LIFTSTREAM_SPEED_CONFIG=config,
                           LIFTSTREAM_SPEED_DATA=file, LIFTSTREAM_SPEED_LOSSES=kept)  # fmt: skip
            figures.write_text(json.dumps(f))
        return [float(x) for x in kept.read_text().split()], json.loads(figures.read_text())

    def moa(self):
        """The jars of MOA; raises where there is no Java or Maven."""

        def make():
            folder = self.folder / "moa"
            folder.mkdir(exist_ok=True)
            (folder / "pom.xml").write_text(POM.format(MOA))
            if not list(folder.glob("jars/moa-*.jar")):
                subprocess.run(["mvn", "-q", "dependency:copy-dependencies", "-DoutputDirectory=jars"], check=True,
                               cwd=folder, capture_output=True, text=True)  # fmt: skip
            return ":".join(map(str, sorted(folder.glob("jars/*.jar"))))

        return self.once("moa", make)


BANK = 45211


def mean(losses):
    return sum(losses[1000:]) / len(losses[1000:])


def record(w):
    """A bank record scored, explained and learnt."""
    file, config = w.bank()
    losses = {m: w.losses(m) for m in ("lift", "kernel", "all")}
    last, programs = {}, []
    names = {"lift": "lift", "kernel": "lift and kernel", "all": "all components"}
    for method, name in names.items():

        def run(method=method):
            last[method] = f = w.bench("./cmd/liftstream", f"SpeedRecord/{method}$", LIFTSTREAM_SPEED_CONFIG=config,
                                       LIFTSTREAM_SPEED_DATA=file)  # fmt: skip
            n = BANK * 1e-9
            return {"cpu": f["cpu-ns/record"] * n, "wall": f["wall-ns/record"] * n, "records": BANK,
                    "memory": f["memory"]}  # fmt: skip

        def alone(method=method):
            return {"cpu": last[method]["scored-cpu-ns/record"] * BANK * 1e-9, "records": BANK}

        programs.append(Program(name, run, ours=True, log_loss=mean(losses[method][0])))
        programs.append(Program(name + ", scored and explained, not learnt", alone, ours=True))
    w.peer(file, "texts", BANK)

    def wabbit(*options):
        """Its figures, the log-loss from a run apart, whose predictions are written."""
        loss = w.once(("wabbit", *options), lambda: w.peer(file, "wabbit", *options, "losses")["log_loss"])
        return {**w.peer(file, "wabbit", *options), "records": BANK, "log_loss": loss}

    programs += [
        Program("Vowpal Wabbit, its text form", wabbit),
        Program("Vowpal Wabbit with pairs (-q ::)", lambda: wabbit("-q", "::"), goal="1.5 of kernel, 1 of all"),
    ]
    for name, count, most, goal in (
        ("logistic regression", 6000, 99, "15"),
        ("ARF", 2000, 99, "450"),
        ("leveraging bagging", 1500, 1, ""),
    ):
        programs.append(
            Program(f"river, {name}, first {count:,}",
                    lambda name=name, count=count: w.peer(file, "river", name, count),
                    goal=goal, most=most, on_these=mean(losses["all"][0][:count]))
        )  # fmt: skip
    for name, learner, most in (
        ("adaptive random forest", "(meta.AdaptiveRandomForest -s 10)", 99),
        ("leveraging bagging", "(meta.LeveragingBag -s 10)", 1),
    ):
        programs.append(Program(f"MOA, {name}, first 4,000", lambda learner=learner: moa(w, file, learner), most=most))
    def fits(method):
        f = losses[method][1]
        each = f["fits-cpu-ns/record"]
        return f"{names[method]} {each * BANK * 1e-9:.1f} s in {f['fits']:.0f} fits ({each / 1000:.0f} us a record)"

    return Group(
        "record", "A bank record learnt, scored, explained", "45,211 records, 15 features, batches of 1,000", "record",
        ["lift and kernel", "all components"], programs,
        "Ours: decoded records, a second pass under a model with all its parts, no fits. Those of a whole first pass, "
        f"of which the log-losses are, take {', '.join(map(fits, names))} of processor time. Vowpal Wabbit: its whole "
        "driver, its text parsed. River: its records are dictionaries before the clock starts. MOA: the processor time "
        "of its main thread; it writes classes, no probabilities. Log-losses leave out the first 1,000 records; in "
        "brackets that of all components on the same records.",
    )  # fmt: skip


def moa(w, file, learner, records=4000):
    """MOA's own clock over its prequential evaluation, which reads the file."""
    if not file.with_suffix(".arff").exists():
        w.peer(file, "arff")
    task = (f"EvaluatePrequential -l {learner} -s (ArffFileStream -f {file.with_suffix('.arff')}) "
            f"-e BasicClassificationPerformanceEvaluator -i {records} -f {records}")  # fmt: skip
    command = ["java", "-Xmx1g", "-cp", w.moa(), "moa.DoTask", task]
    out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=w.folder)
    lines = [x for x in out.stdout.splitlines() if "," in x]
    if len(lines) < 2:
        raise RuntimeError(out.stderr)
    cells = dict(zip(lines[0].split(","), lines[-1].split(",")))
    cpu = float(cells["evaluation time (cpu seconds)"])
    right = float(cells["classifications correct (percent)"]) / 100
    return {"cpu": cpu, "records": records, "accuracy": right, "versions": {"moa": MOA}}


def whole(w, package, pattern, count="300ms"):
    """One operation of a benchmark of ours that tells its processor time, on one processor."""

    def run():
        f = w.bench(package, pattern, count, GOMAXPROCS=1)
        return {"cpu": f["cpu-s/op"], "wall": f["ns/op"] * 1e-9}

    return run


def profiles(w, name, records):
    return Group(
        f"profiles-{name}", "The 100 profiles of the highest lift", f"{name}, {records}, up to 3 features above .005",
        "run", ["liftstream"],
        [
            Program("liftstream", whole(w, "./model/lift", f"Profiles/{name}/0.005$"), ours=True),
            Program("numpy, vectorised", lambda: w.peer(w.data, "profiles", "numpy", name), goal="20"),
            Program("pysubgroup, depth first", lambda: w.peer(w.data, "profiles", "pysubgroup", name), goal="300",
                    most=2),
            Program("mlxtend, FP-growth", lambda: w.peer(w.data, "profiles", "mlxtend", name)),
        ],
        "Ours on cells that are there already, as the peers' codes are.",
    )  # fmt: skip


def sets(w, rows=100_000):
    """All sets of Covertype's ten features; ours is the fit of the lift component, which ranks and codes as well."""
    few = w.folder / "few"
    (few / "data").mkdir(parents=True, exist_ok=True)
    file = few / "data/covtype10.csv.gz"
    with gzip.open(w.data / "covtype10.csv.gz", "rb") as f, gzip.open(file, "wb", 1) as out:
        for _ in range(rows + 1):
            out.write(f.readline())

    def ours():
        f = w.bench("./model/lift", "Covertype/paper$", "1x", GOMAXPROCS=1, LIFTSTREAM_SHARED=few)
        return {"cpu": f["cpu-s/op"], "wall": f["ns/op"] * 1e-9}

    return Group(
        "sets", "eta of all 1,023 sets", f"first {rows:,} records of covtype, 10 features, quintiles", "run",
        ["liftstream"],
        [Program("liftstream", ours, ours=True), Program("numpy", lambda: w.peer(file, "numpy_sets", file), goal="25")],
        "Ours is the whole fit of the component, windows included.",
    )  # fmt: skip


def curve(w, n, most=99):
    return Group(
        f"gp-{n}", "A Gaussian process with its three hyperparameters", f"{n:,} observations", "run", ["liftstream"],
        [
            Program("liftstream", whole(w, "./model/gp", f"Fit/{n}$"), ours=True),
            Program("scikit-learn", lambda: w.peer(w.data, "curve", n), goal="100", most=most),
        ],
        "The likelihoods are compared by local.py.",
    )  # fmt: skip


def relief(w):
    return Group(
        "relief", "Relief scores of all features", "5,000 bank records, 16 features", "run", ["liftstream"],
        [
            Program("liftstream", whole(w, "./model/local", "BankScores/balanced$"), ours=True),
            Program("ReliefF of fast-select", lambda: w.peer(w.data, "relief", "fast-select")),
            Program("ReliefF of skrebate", lambda: w.peer(w.data, "relief", "skrebate"), most=2),
        ],
        "Ours are at every value of every feature, theirs one number a feature.",
    )  # fmt: skip


def programme(w, name, count, mode):
    return Group(
        f"lp-{name}-{count}-{mode}", "The kernel's linear programme", f"{name}, {count:,} triples, {mode}", "run",
        ["liftstream"],
        [
            Program("liftstream", whole(w, "./model/kernel/lp", f"Golden/{name}_{count}_{mode}$"), ours=True),
            Program("HiGHS, the same row generation",
                    lambda: w.peer(w.data, "programme", name, count, mode), goal="30"),
        ],
    )  # fmt: skip


def partitions(w):
    """The same records by one partition, and shared out over two on two processors, by the clock."""
    file, config = w.bank()

    def run(count):
        f = w.bench("./cmd/liftstream", f"SpeedPartitions/{count}$", LIFTSTREAM_SPEED_CONFIG=config,
                    LIFTSTREAM_SPEED_DATA=file)  # fmt: skip
        return {"cpu": f["cpu-s"], "wall": BANK / f["records/s"], "records": BANK, "memory": f["memory"]}

    return Group(
        "partitions", "Two partitions on two cores", "45,211 bank records, all components, in one process", "record",
        ["two partitions"],
        [
            Program("two partitions", lambda: run(2), ours=True),
            Program("one partition", lambda: run(1), goal="1.8"),
        ],
        "The goal is of the ratio by the clock, which means little where other work has the processors.",
    )  # fmt: skip


def restore(w):
    """A state of a million records, of 64 monitored sets, from its sections."""

    def run():
        f = w.bench("./stream/state", "Restore$", "5x")
        return {"cpu": f["cpu-s/op"], "wall": f["ns/op"] * 1e-9, "memory": f["memory"]}

    return Group(
        "restore", "A state of a million records restored", "16 features, 64 monitored sets, 32 MiB of tail", "run",
        ["liftstream"], [Program("liftstream", run, ours=True)],
        "The peak memory is that of the process that learnt the records as well.",
    )  # fmt: skip


MAKE = {
    "record": record,
    "profiles-bank_full": lambda w: profiles(w, "bank_full", "45,211 records"),
    "profiles-adult_train": lambda w: profiles(w, "adult_train", "32,561 records"),
    "relief": relief,
    "gp-1000": lambda w: curve(w, 1000),
    "gp-2000": lambda w: curve(w, 2000, 2),
    "lp-isolet-1000-nonneg": lambda w: programme(w, "isolet", 1000, "nonneg"),
    "lp-wdbc-10000-nonneg": lambda w: programme(w, "wdbc", 10000, "nonneg"),
    "lp-wdbc-1000-ridge": lambda w: programme(w, "wdbc", 1000, "ridge"),
    "sets": sets,
    "partitions": partitions,
    "restore": restore,
}
STAGES = {  # of speed_stage.py: broker, rows of a message, repetitions of the records, records, those of river
    "stage-embedded-1000": ("embedded", 1000, 2, None, 5_000),
    "stage-embedded-1": ("embedded", 1, 1, 10_000, 3_000),
    "stage-real-1000": ("real", 1000, 2, None, 5_000),
    "stage-real-1": ("real", 1, 1, 10_000, 3_000),
}
MORE = ["latency", "stage-partitions"]  # of speed_stage.py as well
NAMES = [*MAKE, *STAGES, *MORE]


def make(name, work):
    if name in MAKE:
        return MAKE[name](work)
    import speed_stage

    if name in MORE:
        return {"latency": speed_stage.latency, "stage-partitions": speed_stage.partitions}[name](work)
    return speed_stage.group(work, *STAGES[name])

"""The stage end to end on a broker, for speed.py: the brokers, the topics, and one run of the stage."""

import atexit
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from speed_groups import ROOT, Group, Program

OFF = "local: off\nkernel: off\ntrees: off\n"
# Re-fits within a minute. The tail must hold the records from a fit to its comparison.
OFTEN = "fit: {every: 10s}\nsnapshot: {interval: 5s}\nmemory: {tail: 256MiB}\n"
SETTINGS = """
topics: {{events: {events}, partitions: {partitions}}}
kafka: {{brokers: ["{broker}"]}}
http: {{listen: 127.0.0.1:{port}}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def embedded(w):
    """A broker of the program in a process of its own; it ends with this one."""
    folder = w.folder / "embedded"
    shutil.rmtree(folder, ignore_errors=True)
    address = f"127.0.0.1:{free_port()}"
    child = subprocess.Popen([w.liftstream(), "broker", "-q", "--dir", folder, "--listen", address],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    def end():
        child.terminate()
        child.wait(30)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    reachable(address)
    return address


def real(w):
    """Apache Kafka by deploy/kafka.sh, made anew and wiped at the end."""
    folder, script = w.folder / "kafka", ROOT / "deploy/kafka.sh"
    if folder.exists():
        subprocess.run([script, "wipe", folder], check=True, capture_output=True)
    port = free_port()
    env = {**os.environ, "KAFKA_WAIT": "300"}
    subprocess.run([script, "start", folder, str(port)], check=True, capture_output=True, text=True, env=env)
    atexit.register(lambda: subprocess.run([script, "wipe", folder], check=False, capture_output=True))
    return f"127.0.0.1:{port}"


def reachable(address, seconds=60):
    host, port = address.split(":")
    for _ in range(seconds * 10):
        try:
            socket.create_connection((host, int(port)), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"no broker at {address} within {seconds} seconds")


def ready(port, seconds=60):
    """Waits until the stage has taken its partitions over."""
    for _ in range(seconds * 10):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the stage is not ready within {seconds} seconds")


class Stages:
    """A broker with a topic of events, and stages over it, each of topics of its own."""

    def __init__(self, w, broker, rows, repeat, records, partitions=1, name="speed"):
        self.w, self.broker, self.rows, self.partitions, self.number = w, broker, rows, partitions, 0
        self.later = {}  # by configuration
        self.name = f"{name}-{rows}"
        self.events = f"{self.name}-events"
        file, base = w.bank()
        self.text = base.read_text()
        if records:
            lines = file.read_text().splitlines(keepends=True)[: records + 1]
            file = w.folder / f"bank-{records}.csv"
            file.write_text("".join(lines))
        self.file, self.records = file, repeat * (records or 45211)
        config, _ = self.configuration("", self.name)
        for command in (["topics", "create", "-c", config], ["produce", "-q", "-c", config, file, "--batch", str(rows),
                                                            "--repeat", str(repeat)]):  # fmt: skip
            subprocess.run([w.liftstream(), *command], check=True, capture_output=True, text=True)

    def configuration(self, more, name=None, events=None):
        self.number += 1
        name, port = name or f"{self.name}-{self.number}", free_port()
        path = self.w.folder / f"{name}.yaml"
        settings = SETTINGS.format(events=events or self.events, partitions=self.partitions, broker=self.broker,
                                   port=port)  # fmt: skip
        path.write_text(re.sub(r"^name: .*", f"name: {name}", self.text, count=1, flags=re.M) + settings + more)
        return path, port

    @contextlib.contextmanager
    def running(self, config):
        """The process of a stage of its own topics; it ends with the block."""
        subprocess.run([self.w.liftstream(), "topics", "create", "-c", config], check=True, capture_output=True)
        log = open(config.with_suffix(".log"), "w")
        child = subprocess.Popen([self.w.liftstream(), "run", "-q", "-c", config], stdout=log, stderr=log)
        try:
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            log.close()

    def ours(self, more):
        """From the first scores that are seen to the last: processor time of the process, fits included. later has
        those from the middle on, which come after the first fits."""
        config, port = self.configuration(more)
        self.later.pop(more, None)  # a run that fails has none
        with self.running(config) as child:
            first, middle, last = None, None, time.monotonic() + 1200
            while time.monotonic() < last:
                if child.poll() is not None:
                    raise RuntimeError(f"the stage ended: {config.with_suffix('.log').read_text()[-500:]}")
                seen, fits = metrics(port)
                now = (seen, processor(child.pid), time.perf_counter(), fits)
                if seen and first is None:
                    first = now
                if seen >= self.records / 2 and middle is None:
                    middle = now
                if seen >= self.records:
                    break
                time.sleep(0.1)
            else:
                raise RuntimeError(f"{seen} of {self.records} records are scored after 20 minutes")
            memory = peak(child.pid)
        self.later[more] = {**between(middle, now), "fits": middle[3]}
        return {**between(first, now), "fits": fits, "memory": memory}

    def latency(self, more, rate, seconds=60):
        """Scores of a stage without records before, whose events come at a rate, as a client sees them."""
        events = f"{self.name}-{self.number}-fresh"
        config, port = self.configuration(more + "commit: {interval: 20ms}\n", events=events)
        with self.running(config) as child:
            ready(port)
            f = self.w.bench("./cmd/liftstream", "SpeedLatency$", LIFTSTREAM_SPEED_CONFIG=config,
                             LIFTSTREAM_SPEED_SOURCE=self.events, LIFTSTREAM_SPEED_ROWS=self.rows,
                             LIFTSTREAM_SPEED_RATE=rate, LIFTSTREAM_SPEED_SECONDS=seconds)  # fmt: skip
            _, fits = metrics(port)
            return {**f, "rate": rate, "fits": fits, "cpu": processor(child.pid), "memory": peak(child.pid)}

    def null(self):
        config, _ = self.configuration("")
        f = self.w.bench("./cmd/liftstream", "SpeedNull$", LIFTSTREAM_SPEED_CONFIG=config,
                         LIFTSTREAM_SPEED_DATA=self.w.bank()[0], LIFTSTREAM_SPEED_BROKERS=self.broker,
                         LIFTSTREAM_SPEED_OUT=config.stem + "-scores")  # fmt: skip
        return {"cpu": f["cpu-s"], "wall": f["wall-s"], "records": int(f["records"]), "memory": f["memory"]}

    def peer(self, name, *arguments):
        self.number += 1
        out = f"speed-{self.rows}-{self.number}-scores"
        return self.w.peer(self.w.data, name, self.broker, self.events, out, *arguments)


def between(a, b):
    """The figures from one reading of the counts to another."""
    return {"cpu": b[1] - a[1], "wall": b[2] - a[2], "records": max(int(b[0] - a[0]), 1)}


def metrics(port):
    """Records that are scored, and models that were fitted."""
    try:
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
    except OSError:
        return 0, 0
    total = {"records": 0, "fits": 0}
    for name, value in re.findall(r"^liftstream_(records|fits)_total\b[^\n]* ([\d.e+]+)$", text, re.M):
        total[name] += float(value)
    return total["records"], total["fits"]


def processor(pid):
    cells = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")


def peak(pid):
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])


def group(w, kind, rows, repeat=1, records=None, river=10_000):
    """The stage beside a null stage, a forwarder and a stage in Python, on messages of so many rows."""
    address = w.once(kind, lambda: {"embedded": embedded, "real": real}[kind](w))
    s = Stages(w, address, rows, repeat, records)
    null = {1000: ".4 of ours with lift, .2 with all", 1: ".3"}[rows]
    return Group(
        f"stage-{kind}-{rows}", "The stage end to end", f"{kind} broker, messages of {rows:,}, {s.records:,} records",
        "record", ["lift and propensity", "all components"],
        [
            Program("lift and propensity", lambda: s.ours(OFF), ours=True),
            Program("lift and propensity, the second half", lambda: s.later[OFF], ours=True),
            Program("all components", lambda: s.ours(""), ours=True),
            Program("all components, the second half", lambda: s.later[""], ours=True),
            Program("null stage", s.null, goal=null),
            Program("forwarder of bytes (librdkafka)", lambda: s.peer("forward")),
            Program(f"Python stage (pyarrow, river's logistic regression), first {river:,}",
                    lambda: s.peer("stage", river), goal="15"),
        ],
        "Ours: processor time of the stage's process from the first scores to the last, exactly once, with its fits, "
        "snapshots and state; the second half comes after the first fits. The broker is a process of its own. Null "
        "stage: fetch, decode, encode and produce by the code of the stage, without transactions. Forwarder and Python "
        "stage: confluent-kafka, without transactions, lz4.",
    )  # fmt: skip


def latency(w, rows=100):
    """The time from an event to its score at half of the rate at which a stage that serves a fitted model takes records
    as fast as they go."""
    address = w.once("embedded", lambda: embedded(w))
    s = Stages(w, address, rows, 16, None, name="latency")
    last, programs = {}, []
    for name, more in (("lift and propensity", OFF), ("all components", "")):

        def run(name=name, more=more):
            last.pop(name, None)
            s.ours(more)
            f = s.later[more]
            if not f["fits"]:
                raise RuntimeError("no model was fitted in the first half of the stream: its rate is that of model 0")
            last[name] = f = s.latency(more + OFTEN, max(int(f["records"] / f["wall"] / 2), 1))
            if f["fits"] < 2:
                raise RuntimeError("there was no re-fit within the run")
            print(f"  {name}: {f}", file=sys.stderr, flush=True)
            return {"wall": f["p99-s"], "memory": f["memory"]}

        def also(key, name=name):
            return {"wall": last[name][key]}

        programs += [
            Program(f"{name}: 99 % of the messages within", run, ours=True, goal="60 ms"),
            Program(f"{name}: half of them within", lambda also=also: also("half-s"), ours=True),
            Program(f"{name}: the longest gap", lambda also=also: also("gap-s"), ours=True, goal="200 ms"),
        ]
    return Group(
        "latency", "From an event to its score", f"embedded broker, messages of {rows}, commit.interval 20ms, 60 s at "
        "half the greatest rate", "run", [], programs,
        "As a client sees it, from the time at which a message is due to the answer that brings its scores; a gap is "
        "the time between two such answers. The stage begins without records, so its first fits are among them, and "
        "re-fits by fit.every 10s, snapshot.interval 5s and memory.tail 256MiB. The sender, the broker and the stage "
        "share the processors. The greatest rate is that of the same turn, of the second half of a stream of 16 times "
        "the bank records, behind the first fits.",
    )  # fmt: skip


def partitions(w):
    """Bank records in turn over two partitions of one stage, beside one partition, by the clock."""
    address = w.once("embedded", lambda: embedded(w))
    two, one = (Stages(w, address, 1000, 2, None, partitions=n, name=f"of-{n}") for n in (2, 1))
    return Group(
        "stage-partitions", "Two partitions on two cores, end to end",
        f"embedded broker, messages of 1,000, {one.records:,} records, all components", "record", ["two partitions"],
        [
            Program("two partitions", lambda: two.ours(""), ours=True),
            Program("one partition", lambda: one.ours(""), goal="1.4"),
        ],
        "The goal is of the ratio by the clock, which means little where other work has the processors. The broker "
        "takes a part of them here.",
    )  # fmt: skip

"""The stage end to end on a broker, for speed.py: the brokers, the topics, and one run of the stage."""

import atexit
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from speed_groups import ROOT, Group, Program

OFF = "local: off\nkernel: off\ntrees: off\n"
SETTINGS = """
topics: {{events: {events}}}
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


class Stages:
    """A broker with a topic of events, and stages over it, each of topics of its own."""

    def __init__(self, w, broker, rows, repeat, records):
        self.w, self.broker, self.rows, self.number = w, broker, rows, 0
        self.events = f"speed-{rows}-events"
        file, base = w.bank()
        self.text = base.read_text()
        if records:
            lines = file.read_text().splitlines(keepends=True)[: records + 1]
            file = w.folder / f"bank-{records}.csv"
            file.write_text("".join(lines))
        self.file, self.records = file, repeat * (records or 45211)
        config, _ = self.configuration("", f"speed-{rows}")
        for command in (["topics", "create", "-c", config], ["produce", "-q", "-c", config, file, "--batch", str(rows),
                                                            "--repeat", str(repeat)]):  # fmt: skip
            subprocess.run([w.liftstream(), *command], check=True, capture_output=True, text=True)

    def configuration(self, more, name=None):
        self.number += 1
        name, port = name or f"speed-{self.rows}-{self.number}", free_port()
        path = self.w.folder / f"{name}.yaml"
        settings = SETTINGS.format(events=self.events, broker=self.broker, port=port)
        path.write_text(re.sub(r"^name: .*", f"name: {name}", self.text, count=1, flags=re.M) + settings + more)
        return path, port

    def ours(self, more):
        """From the first scores that are seen to the last: processor time of the process, fits included."""
        config, port = self.configuration(more)
        subprocess.run([self.w.liftstream(), "topics", "create", "-c", config], check=True, capture_output=True)
        log = open(config.with_suffix(".log"), "w")
        child = subprocess.Popen([self.w.liftstream(), "run", "-q", "-c", config], stdout=log, stderr=log)
        try:
            first, last = None, time.monotonic() + 1200
            while time.monotonic() < last:
                if child.poll() is not None:
                    raise RuntimeError(f"the stage ended: {config.with_suffix('.log').read_text()[-500:]}")
                seen, fits = metrics(port)
                now = (seen, processor(child.pid), time.perf_counter())
                if seen and first is None:
                    first = now
                if seen >= self.records:
                    break
                time.sleep(0.1)
            else:
                raise RuntimeError(f"{seen} of {self.records} records are scored after 20 minutes")
            memory = peak(child.pid)
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            log.close()
        return {"cpu": now[1] - first[1], "wall": now[2] - first[2], "records": int(now[0] - first[0]), "fits": fits,
                "memory": memory}  # fmt: skip

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
            Program("all components", lambda: s.ours(""), ours=True),
            Program("null stage", s.null, goal=null),
            Program("forwarder of bytes (librdkafka)", lambda: s.peer("forward")),
            Program(f"Python stage (pyarrow, river's logistic regression), first {river:,}",
                    lambda: s.peer("stage", river), goal="15"),
        ],
        "Ours: processor time of the stage's process from the first scores to the last, exactly once, with its fits, "
        "snapshots and state. The broker is a process of its own. Null stage: fetch, decode, encode and produce by the "
        "code of the stage, without transactions. Forwarder and Python stage: confluent-kafka, without transactions, "
        "lz4.",
    )  # fmt: skip

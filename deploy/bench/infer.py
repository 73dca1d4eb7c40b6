#!/usr/bin/env python3
"""Scores by request, at 2,000 requests a second beside a stage at half of its load.

    go build -o /tmp/liftstream ./cmd/liftstream
    python3 deploy/bench/infer.py /tmp/liftstream

It starts an embedded broker and a stage of bank marketing with a given model, one partition and no fits, and measures
its throughput. Then the same records come at half of that rate, once without requests and once with them. It prints the
times of the requests, the processor time of the stage for each, and whether the scores of the stream are the same to
the byte. The requests come from BenchmarkSpeedInfer at the times at which they are due, whatever the stage does; its
own lateness and its own processor time stand beside the times. Needs Go, and nothing of Python's packages. On a busy
machine the times say nothing of the stage: the load is printed beside them.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BANK = REPOSITORY / "cmd/liftstream/examples/bank.csv"
RECORDS = 2056  # of that file


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Stage:
    """A stage with topics of its own on the broker, at the port of its page."""

    def __init__(self, program: str, folder: Path, broker: int, name: str, model: Path) -> None:
        self.program, self.port, self.config = program, free_port(), folder / f"{name}.yaml"
        plain = (BANK.parent / "bank.yaml").read_text()
        self.config.write_text(
            re.sub(r"(?m)^name: .*$", f"name: {name}", plain)
            + f'\nkafka: {{brokers: ["127.0.0.1:{broker}"]}}\ntopics: {{partitions: 1}}\n'
            f'http: {{listen: "127.0.0.1:{self.port}", score: {{rate: 0, requests: 64}}}}\n'
            "fit: {every: 24h, records: 1000000000}\n"
        )
        self.name = name
        self.run("topics", "create")
        command = [program, "run", "-q", "-c", str(self.config), "--instance", "a", "--model", str(model)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while subprocess.run([program, "probe", "-c", str(self.config)], capture_output=True).returncode != 0:
            if self.process.poll() is not None:
                raise SystemExit(f"the stage has ended with status {self.process.returncode}")
            time.sleep(0.2)

    def run(self, *command: str) -> bytes:
        return subprocess.run(
            [self.program, *command, "-q", "-c", str(self.config)], check=True, capture_output=True
        ).stdout

    def produce(self, repeat: int, rate: int) -> subprocess.Popen[bytes]:
        command = ["produce", "-q", "-c", str(self.config), str(BANK), "--repeat", str(repeat), "--rate", str(rate)]
        return subprocess.Popen([self.program, *command], stdout=subprocess.DEVNULL)

    def metric(self, name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(x.rsplit(" ", 1)[1]) for x in lines if re.match(name + r"[ {]", x))

    def scored(self, records: int) -> None:
        while self.metric("liftstream_records_total") < records:
            time.sleep(0.02)

    def scores(self) -> str:
        """The scores of the stream, as one sum."""
        out = self.run("tail", "--from", "start", "--follow=false", "--format", "jsonl")
        return hashlib.sha256(out).hexdigest()

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def bodies(path: Path) -> None:
    """A request of one record in each line."""
    with BANK.open() as f, path.open("w") as out:
        for row in list(csv.DictReader(f))[:500]:
            inputs = []
            for name, value in row.items():
                number = name in ("age", "balance", "day", "duration", "campaign", "pdays", "previous")
                kind, data = ("FP64", float(value)) if number else ("BYTES", value)
                if name != "class":
                    inputs.append({"name": name, "shape": [1], "datatype": kind, "data": [data]})
            outputs = [{"name": n} for n in ("propensity_yes", "lift", "status")]
            out.write(json.dumps({"inputs": inputs, "outputs": outputs}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built liftstream")
    parser.add_argument("--rate", type=int, default=2000, help="requests a second")
    parser.add_argument("--seconds", type=int, default=20, help="length of each of the two runs")
    parser.add_argument("--load", type=float, default=0.5, help="share of the throughput at which records come")
    args = parser.parse_args()
    program = str(Path(args.program).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        broker = subprocess.Popen(
            [program, "broker", "-q", "--dir", str(folder / "broker"), "--listen", f"127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            measure(args, program, folder, port)
        finally:
            broker.terminate()
            broker.wait()


def measure(args: argparse.Namespace, program: str, folder: Path, port: int) -> None:
    model, ask = folder / "bank.model", folder / "bodies.txt"
    config = str(BANK.parent / "bank.yaml")
    subprocess.run(
        [program, "fit", "-q", "-c", config, str(BANK), "--model", str(model)], check=True, capture_output=True
    )
    bodies(ask)
    test = folder / "speed.test"
    build = ["go", "test", "-buildvcs=false", "-c", "-o", str(test), "./cmd/liftstream"]
    subprocess.run(build, check=True, cwd=REPOSITORY)
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}", flush=True)

    repeat = 100
    with Stage(program, folder, port, "fast", model) as fast:
        began = time.monotonic()
        fast.produce(repeat, 0).wait()
        fast.scored(repeat * RECORDS)
        full = repeat * RECORDS / (time.monotonic() - began)
    rate = max(int(full * args.load), 100)
    repeat = max(rate * args.seconds // RECORDS, 1)
    print(f"throughput {full:,.0f} records a second; the stage is given {rate:,}", flush=True)

    busy, sums, told = {}, {}, {}
    for asked in (0, args.rate):
        with Stage(program, folder, port, f"asked-{asked}", model) as stage:
            busy[asked] = -stage.metric("process_cpu_seconds_total")
            producer = stage.produce(repeat, rate)
            if asked:
                environment = {
                    **os.environ,
                    "LIFTSTREAM_SPEED_URL": f"http://127.0.0.1:{stage.port}/v2/models/{stage.name}/infer",
                    "LIFTSTREAM_SPEED_BODIES": str(ask),
                    "LIFTSTREAM_SPEED_RATE": str(asked),
                    "LIFTSTREAM_SPEED_SECONDS": str(args.seconds),
                    "GOMAXPROCS": "1",
                }
                line = subprocess.run(
                    [str(test), "-test.run", "xxx", "-test.bench", "SpeedInfer", "-test.benchtime", "1x"],
                    env=environment,
                    cwd=REPOSITORY / "cmd/liftstream",
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
                told = {unit: float(n) for n, unit in re.findall(r"([0-9.e+-]+) (\S+-ms|asker-us|refused)\b", line)}
            producer.wait()
            stage.scored(repeat * RECORDS)
            busy[asked] += stage.metric("process_cpu_seconds_total")
            sums[asked] = stage.scores()

    asked = args.rate * args.seconds
    each = (busy[args.rate] - busy[0]) / asked
    print(f"{asked:,} requests, {args.rate:,} a second: half within {told['half-ms']:.1f} ms, 99 % within")
    print(
        f"{told['p99-ms']:.1f} ms, the longest {told['longest-ms']:.0f} ms; {told['refused']:.0f} refused"
    )
    print(
        f"of that the asking program was late: half by {told['late-half-ms']:.1f} ms, 99 % by"
        f" {told['late-p99-ms']:.1f} ms, the latest by {told['late-longest-ms']:.0f} ms"
    )
    print(
        f"from the sending on: half within {told['answer-half-ms']:.1f} ms, 99 % within"
        f" {told['answer-p99-ms']:.1f} ms, the longest {told['answer-longest-ms']:.0f} ms"
    )
    print(f"processor time of the asking program: {told['asker-us']:.0f} microseconds for each")
    print(f"processor time of the stage: {busy[0]:.1f} s without requests, {each * 1e6:.0f} microseconds more for each")
    print(f"scores of the stream are the same to the byte: {sums[0] == sums[args.rate]}")
    print(f"load of the machine after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

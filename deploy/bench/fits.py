#!/usr/bin/env python3
"""Do fits hold up the scores? Runs a broker and a stage, sends drawn records at a steady rate while models are fitted,
and prints a row of deploy/bench/GROWTH.md 2: features, records a second, messages, the bounds in ms below which half
and 99 % of the messages had their scores, the longest time in ms without a score, the fits, the seconds of processor
time of the stage, and its resident memory in MB, the most and the last. Needs Python 3 alone.

Ten messages a second are sent, and commit.interval is 20ms. Labels come with the records. On a machine that is busy
with other things, compare two builds by turns.
"""

import argparse
import json
import pathlib
import random
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request


def draw(path, features, records, seed=1):
    """Writes records of whole numbers: four features tell about the class, two others do together."""
    u = random.Random(seed).random
    with open(path, "w") as f:
        f.write(",".join(f"x{k}" for k in range(features)) + ",class\n")
        for _ in range(records):
            x = [int(1000 * u()) for _ in range(features)]
            z = 1.2 if (x[1] > 500) == (x[3 % features] > 500) else -1.2
            for k, effect in enumerate((1.2, -.8, 1, .6)):
                z += effect * (x[k * features // 4] / 500 - 1)
            f.write(",".join(map(str, x)) + (",yes\n" if 3 * u() - 1.5 < z else ",no\n"))


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def metrics(at):
    """Values of the metrics by name and labels; {} before the stage answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{at}/metrics", timeout=5) as r:
            lines = r.read().decode().splitlines()
    except OSError:
        return {}
    return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in lines if line and line[0] != "#")}


def within(counts, share):
    """The bound of the histogram below which that share of the messages had their scores, in milliseconds."""
    name = "liftstream_event_to_score_seconds_bucket{le=\""
    bounds = [(float(k[len(name):-2]), v) for k, v in counts.items() if k.startswith(name)]
    for bound, n in sorted(bounds):
        if n >= share * counts["liftstream_event_to_score_seconds_count"]:
            return 1000 * bound
    return float("nan")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("binary", help="the built program", metavar="LIFTSTREAM")
    a.add_argument("--features", type=int, default=100)
    a.add_argument("--rate", type=int, default=1000, help="records a second")
    a.add_argument("--seconds", type=int, default=60)
    a.add_argument("--records", type=int, default=2000, help="fit.records: labelled records from one fit to the next")
    o = a.parse_args()
    binary = str(pathlib.Path(o.binary).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder, broker, page = pathlib.Path(name), port(), port()
        draw(folder / "drawn.csv", o.features, max(min(o.rate * o.seconds, 4_000_000 // o.features), 1000))
        config = folder / "stage.yaml"
        config.write_text(f"""name: growth
kafka: {{brokers: ["127.0.0.1:{broker}"]}}
topics: {{events: events, scores: scores}}
commit: {{interval: 20ms}}
fit: {{warmup: 400, records: {o.records}, every: 1s}}
http: {{listen: "127.0.0.1:{page}"}}
record:
  label: {{column: class, classes: ["no", "yes"]}}
  features:
""" + "".join(f"    - {{name: x{k}, kind: continuous}}\n" for k in range(o.features)))
        children, stage, log = [], None, (folder / "stage.log").open("w")

        def begin(*args, **more):
            children.append(subprocess.Popen([binary, *map(str, args)], **{"stderr": subprocess.DEVNULL, **more}))
            return children[-1]

        try:
            first = begin("broker", "--dir", folder / "broker", "--listen", f"127.0.0.1:{broker}",
                          stdout=subprocess.PIPE)
            first.stdout.readline()
            subprocess.run([binary, "topics", "create", "-c", config], check=True, capture_output=True)
            stage = begin("run", "-c", config, "--log-format", "json", stdout=log, stderr=log)
            while not metrics(page):
                if stage.poll() is not None:
                    raise SystemExit("the stage ends: " + (folder / "stage.log").read_text()[-2000:])
                time.sleep(.1)
            arrivals = []
            scores = begin("tail", "-c", config, "--from", "start", "--format", "jsonl", stdout=subprocess.PIPE)
            threading.Thread(target=lambda: arrivals.extend(time.time() for _ in scores.stdout), daemon=True).start()
            begin("produce", "-q", "-c", config, folder / "drawn.csv", "--rate", o.rate, "--repeat", 1000)
            resident, ends = [], time.time() + o.seconds
            while time.time() < ends:
                time.sleep(1)
                resident.append(metrics(page).get("process_resident_memory_bytes", 0))
            counts = metrics(page)
        finally:
            for c in reversed(children):
                c.terminate()
            for c in children:
                c.wait()
            log.close()
        report(o, counts, arrivals, resident, folder / "stage.log")


def report(o, counts, arrivals, resident, log):
    fits = []
    for line in log.read_text().splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if "model fitted" in said.get("msg", "") or "of the first records fitted" in said.get("msg", ""):
            fits.append(said["took"])
    if not arrivals or not counts:
        raise SystemExit("no score came")
    gaps = sorted((b - a for a, b in zip(arrivals, arrivals[1:])), reverse=True)
    print(f"| {o.features} | {o.rate} | {counts['liftstream_event_to_score_seconds_count']:.0f} "
          f"| {within(counts, .5):.0f} | {within(counts, .99):.0f} | {1000 * gaps[0]:.0f} "
          f"| {len(fits)}, {', '.join(fits)} | {counts['process_cpu_seconds_total']:.0f} "
          f"| {max(resident) / 1e6:.0f}, {resident[-1] / 1e6:.0f} |")


if __name__ == "__main__":
    main()

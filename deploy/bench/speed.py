#!/usr/bin/env python3
"""Speed beside other programs: one command, one table.

usage: speed.py SHARED [--work DIR] [--runs 6] [--only GROUP]... [--list]
       speed.py --table | --check

Prepares the peers (pinned packages of PyPI in a virtual environment, MOA from Maven), builds the benchmarks and the
program, and runs each group: every program once uncounted, then all in turn, ours and the peers, RUNS times. A ratio is
that of the two runs of one turn, so that a machine whose speed drifts does not make it. Processor time is the user and
system time of getrusage over all threads; the clock's time stands beside it.

The figures of a group replace the former ones in results/speed.json, with machine, load, versions and commit, and the
table in SPEED.md is drawn anew from that file; --table draws it alone, --check fails where they differ. SHARED is the
folder of the data sets that are not shipped. It needs Go, Python 3.10, and Java and Maven for MOA and Kafka.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import speed_groups
import speed_table

HERE = pathlib.Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results/speed.json", HERE / "SPEED.md"


def machine():
    model = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), "unknown")
    memory = next(int(x.split()[1]) for x in open("/proc/meminfo") if x.startswith("MemTotal"))
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory": f"{memory / 2**20:.0f} GiB",
        "system": f"{os.uname().sysname} {os.uname().machine}",
    }


def text(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE).stdout.strip()


def commit():
    """The commit of the program, with a remark where its code was changed since."""
    code = [HERE.parents[1] / d for d in ("cmd", "stream", "model", "codec", "config", "go.mod")]
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *code], cwd=HERE).returncode
    return text("git", "rev-parse", "--short=8", "HEAD") + (" with changes" if changed else "")


FAILURES = (subprocess.SubprocessError, OSError, LookupError, ValueError, RuntimeError)


def reason(error):
    """The last line that a failed program said, else the error."""
    said = (getattr(error, "stderr", None) or "").strip() or str(error).strip()
    return ([x for x in said.splitlines() if x != "FAIL"] or [repr(error)])[-1][:200]


def turns(group, runs):
    """One uncounted turn, then the counted ones; the programs of a turn run one after another."""
    programs = [p for p in group.programs if p.missing is None]
    for turn in range(-1, runs):
        for p in programs:
            if turn >= p.most:
                continue
            try:
                figures = p.run()
            except FAILURES as e:
                p.missing, p.runs = f"did not run: {reason(e)}", []
                print(f"  {p.name}: {p.missing}", file=sys.stderr, flush=True)
                continue
            p.versions.update(figures.pop("versions", {}))
            if turn >= 0:
                p.runs.append(figures)
            shown = ", ".join(f"{k} {v:.4g}" for k, v in figures.items() if isinstance(v, (int, float)))
            print(f"  {turn + 1}/{runs} {p.name}: {shown}", file=sys.stderr, flush=True)
        programs = [p for p in programs if p.missing is None]


def measure(group, runs):
    print(group.name, file=sys.stderr, flush=True)
    before, code = os.getloadavg()[0], commit()
    turns(group, runs)
    return {
        "title": group.title,
        "shape": group.shape,
        "per": group.per,
        "note": group.note,
        "against": group.against,
        "machine": machine(),
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        "commit": code,
        "go": text("go", "env", "GOVERSION"),
        "programs": [p.record() for p in group.programs],
    }


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("shared", metavar="SHARED", nargs="?", type=pathlib.Path)
    p.add_argument("--work", type=pathlib.Path, default=pathlib.Path("/tmp/liftstream-speed"))
    p.add_argument("--runs", type=int, default=6)
    p.add_argument("--only", action="append", metavar="GROUP", choices=speed_groups.NAMES,
                   help="measure this group; may be repeated: " + ", ".join(speed_groups.NAMES))
    p.add_argument("--results", type=pathlib.Path, default=RESULTS)
    p.add_argument("--page", type=pathlib.Path, default=PAGE)
    p.add_argument("--table", action="store_true", help="draw the table of the page anew")
    p.add_argument("--check", action="store_true", help="fail where the table of the page is not that of the results")
    a = p.parse_args()
    if a.check:
        sys.exit(speed_table.differs(a.results, a.page, speed_groups.NAMES))
    if not a.table:
        if a.shared is None or not (a.shared / "data").is_dir():
            p.error("SHARED is a folder that has data/ in it")
        if a.runs < 1:
            p.error("--runs is 1 or more")
        work = speed_groups.Work(a.work.resolve(), a.shared.resolve())
        failed = []
        for name in a.only or speed_groups.NAMES:
            try:
                group = speed_groups.make(name, work)
            except FAILURES as e:
                print(f"{name}: NOT MEASURED: {reason(e)}", file=sys.stderr)
                failed.append(name)
                continue
            figures = measure(group, a.runs)
            kept = json.loads(a.results.read_text()) if a.results.exists() else {}
            kept[name] = figures
            a.results.parent.mkdir(exist_ok=True)
            a.results.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
        if failed:
            speed_table.draw(a.results, a.page, speed_groups.NAMES)
            sys.exit(f"not measured: {', '.join(failed)}; their former figures stay")
    speed_table.draw(a.results, a.page, speed_groups.NAMES)


if __name__ == "__main__":
    main()

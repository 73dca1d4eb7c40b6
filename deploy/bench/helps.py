#!/usr/bin/env python3
"""Do the neighbours and the kernel help a score? Log-loss of lift, lift + local, lift + kernel and all, and of all less
lift with its paired 95 % interval, as the rows of the table in model/QUALITY.md 3.

usage: helps.py LIFTSTREAM SHARED [NAME ...]

LIFTSTREAM is the built program, SHARED the folder with data/ and oracles/folds/, NAME a row (all of them if none is named).
Configurations are those that `init` writes; bank without its `duration`, which is known only after the call. Needs nothing
but Python 3.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

METHODS = ["lift", "lift+local", "lift+kernel", "all"]
STREAMS = {  # name: files, positive class, columns not looked at
    "bank marketing, without `duration`": (["bank_full.csv.gz"], "yes", ["duration"]),
    "bank marketing": (["bank_full.csv.gz"], "yes", []),
    "electricity (elec2)": (["elec2.csv.gz"], "UP", []),
    "telco churn": (["telco_churn.csv"], "Yes", ["customerID"]),
    "adult": (["adult_train.csv.gz", "adult_test.csv.gz"], ">50K", []),
}
FOLDS = ["wdbc", "wine", "ionosphere", "isolet40", "syn_wide1", "syn_narrow1"]


def configure(binary, path, label, positive, never, folder):
    command = [binary, "init", path, "--label", label] + (["--positive", positive] if positive else [])
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = []
    for line in text.splitlines():
        name = line.split("name:")[1].split(",")[0].strip(" {}\"'") if "{name:" in line else None
        if name in never and "use:" not in line:
            line = line.replace("}", ", use: never}", 1)
        elif name is not None and name not in never:
            line = line.replace(", use: never", "")
        lines.append(line)
    config = pathlib.Path(folder) / "c.yaml"
    config.write_text("\n".join(lines) + "\n")
    return str(config)


def row(name, binary, config, paths, *flags):
    methods = [x for m in METHODS for x in ("--method", m)]
    out = subprocess.run([binary, "eval", "-c", config, *paths, *methods, "--json", "-", *flags], check=True, capture_output=True, text=True)
    r = json.loads(out.stdout)
    cells = [f"{r['methods'][m]['log_loss']:.4f}".lstrip("0") for m in METHODS]
    d = r["against"]["lift"]
    short = lambda v: f"{v:.4f}".replace("0.", ".").replace("-.0000", ".0000")
    print(f"| {name} | {' | '.join(cells)} | {short(d['log_loss_difference'])} [{short(d['interval'][0])}, {short(d['interval'][1])}] |", flush=True)


def main():
    binary, shared, wanted = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    print("| data | " + " | ".join(METHODS) + " | all less lift |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (files, positive, never) in STREAMS.items():
            if wanted and name not in wanted:
                continue
            paths = [str(shared / "data" / f) for f in files]
            config = configure(binary, paths[0], "class", positive, never, folder)
            row(name, binary, config, paths)
            row(name + ", labels 1,000 late", binary, config, paths, "--delay", "1000")
        for name in FOLDS:
            if wanted and name not in wanted:
                continue
            path = str(shared / "oracles" / "folds" / f"{name}.csv.gz")
            config = configure(binary, path, "class", None, ["fold"], folder)
            row(f"{name}, ten folds", binary, config, [path], "--protocol", "folds", "--fold-column", "fold")


main()

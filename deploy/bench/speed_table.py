"""The table of speed.py: drawn from the results, and held against them. It needs Python alone."""

import json
import statistics

START, END = "<!-- drawn from results/speed.json by speed.py --table -->\n", "<!-- end -->\n"


def quartiles(values):
    """Median and quartiles; of fewer than two values these are the value."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def number(v):
    """Three significant digits, never in powers of ten."""
    if v == 0:
        return "0"
    digits = max(0, 2 - int(f"{v:e}".split("e")[1]))
    s = f"{v:,.{digits}f}"
    return s.replace("0.", ".", 1) if s.startswith("0.") else s


def spread(values):
    return "{} [{}, {}]".format(*map(number, quartiles(values)))


def loss(v):
    return f"{v:.4f}".replace("0.", ".", 1) if v is not None else ""


def ratios(group, program, key):
    """The program's time over that of ours, turn by turn, of each of ours; above 1 ours is the faster one."""
    if program["name"] in group["against"]:
        return "1"
    found = []
    for name in group["against"]:
        ours = next(p for p in group["programs"] if p["name"] == name)
        if program["ours"] or not all(key in r for r in program["runs"]) or not program["runs"] or not ours["runs"]:
            continue
        found.append(
            spread([each(group, p, key) / each(group, o, key) for p, o in zip(program["runs"], ours["runs"])])
        )
    return "; ".join(found)


def each(group, run, key):
    """Seconds of a record, or of a run, as the group has it."""
    return run[key] / (run["records"] if group["per"] == "record" else 1)


def unit(group):
    """Seconds of a run, or microseconds of a record."""
    return (1, "s") if group["per"] == "run" else (1e6, "us")


def row(group, p, first):
    scale, name = unit(group)
    if p["missing"]:
        cells = ["", "", "", f"not measured: {p['missing']}", "", "", ""]
    else:
        figures = [
            f"{spread([scale * each(group, r, k) for r in p['runs']])} {name}" if k in p["runs"][0] else ""
            for k in ("cpu", "wall")
        ]
        memory = [r["memory"] / 2**20 for r in p["runs"] if r.get("memory")]
        ratio = [ratios(group, p, k) for k in ("cpu", "wall")]
        beside = loss(p["log_loss"]) + (f" (ours {loss(p['ours_on_these'])})" if p.get("ours_on_these") else "")
        cells = [str(len(p["runs"])), *figures, *ratio, beside]
        cells.append(number(statistics.median(memory)) if memory else "")
    title = f"**{group['title']}** ({group['shape']})" if first else ""
    versions = " ".join(p["versions"].values())
    return "| " + " | ".join([title, f"{p['name']} {versions}".strip(), *cells, p["goal"]]) + " |"


def table(results, names=()):
    """The lines of all groups in the order of names, a remark on each, and the groups without results."""
    head = ["work", "program", "runs", "processor time", "wall", "times ours", "by the clock"]
    head += ["log-loss", "peak MiB", "goal"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    notes = []
    for name in [n for n in names if n in results] + [n for n in results if n not in names]:
        g = results[name]
        lines += [row(g, p, i == 0) for i, p in enumerate(g["programs"])]
        m = g["machine"]
        notes.append(
            f"* {g['title']}: {m['processor']}, {m['cores']} cores, {m['memory']}, {m['system']}, {g['go']}, "
            f"load {g['load'][0]} before and {g['load'][1]} behind it, commit {g['commit']}."
            + (f" {g['note']}" if g["note"] else "")
        )
    if absent := [n for n in names if n not in results]:
        notes.append(f"* Groups that were not measured yet: {', '.join(absent)}.")
    return "\n".join(lines) + "\n\n" + "\n".join(wrapped(n) for n in notes) + "\n"


def wrapped(note, width=118):
    lines, line = [], ""
    for word in note.split():
        if len(line) + len(word) + 1 > width:
            lines.append(line)
            line = "  " + word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


def drawn(results, page, names):
    """The page with the table of the results between the marks."""
    before, rest = page.split(START, 1)
    return before + START + "\n" + table(results, names) + "\n" + END + rest.split(END, 1)[1]


def draw(results, page, names):
    if results.exists():
        page.write_text(drawn(json.loads(results.read_text()), page.read_text(), names))


def differs(results, page, names):
    """0 where the page has the table of the results, else a message for sys.exit."""
    for file in (results, page):
        if not file.exists():
            return f"{file} does not exist"
    text = page.read_text()
    if START not in text or END not in text:
        return f"{page.name} has no place for the table"
    same = drawn(json.loads(results.read_text()), text, names) == text
    return 0 if same else f"the table of {page.name} is not that of {results.name}: deploy/bench/speed.py --table"

#!/usr/bin/env python3
"""Holds ARCHITECTURE.md against the code.

architecture.py           prints each `file.go` `Name` and each `Type.Member` of the pages that does not exist, and each
                          difference between the arrows of the picture and the imports that `go list` tells; status 1
                          where there is any
architecture.py --write   writes the picture anew from `go list`

A name is a function, Type.Method or a type; several may follow one file: `a/b.go` `F`, `T.G`. Test packages and the
arrows that follow from others are left out of the picture."""
import functools, json, pathlib, re, subprocess, sys

PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md"]
START, END = "```mermaid\n", "```\n"
LEFT_OUT = ("model/modeltest", "internal/sample", "stream/streamtest", "internal/testkit", "internal/kit",
            "internal/world")


FILE = r"[\w./-]+\.(?:go|md|sh|py)"


def names():
    """The files, folders and names in the pages that do not exist.

    Tables under a heading "3.2 stream" speak of that folder."""
    for page in PAGES:
        text = pathlib.Path(page).read_text() if pathlib.Path(page).exists() else ""

        def folder(at):
            """The folder of which the section speaks; the root where it speaks of none."""
            m = re.search(r"^### [\d.]+ ([\w/]+)$", text[:at][text.rfind("\n#", 0, at) + 1:], re.M)
            return pathlib.Path(m[1] if m and pathlib.Path(m[1]).is_dir() else "")

        for row in re.finditer(r"^\| (`[^|]*)\|", text, re.M):
            for f in re.findall(r"`([\w/-]+)`", row[1]):
                if (in_ := folder(row.start())).name and not (in_ / f).is_dir():
                    yield f"{page}:{text[:row.start()].count(chr(10)) + 1}: there is no folder {in_ / f}"
        for m in re.finditer(rf"`({FILE})`((?:,?\s+`(?!{FILE}`)[A-Za-z]\w*(?:\.\w+)?`)*)", text):
            where = f"{page}:{text[:m.start()].count(chr(10)) + 1}"
            file = folder(m.start()) / m[1]
            if not file.exists() and "/" not in str(file):
                continue  # a kind of file, of which the text speaks without a folder
            if not file.exists():
                yield f"{where}: {file} does not exist"
                continue
            code = file.read_text()
            for name in re.findall(r"`([\w.]+)`", m[2]):
                kind, _, method = name.rpartition(".")
                want = rf"^func \(\w* ?\*?{kind}(\[\w+\])?\) {method}[(\[]" if kind else rf"^(func {name}[(\[]|(type |\t){name} |(var|const) {name}\b)"
                if not re.search(want, code, re.M):
                    yield f"{where}: {file} has no {name}"
        yield from methods(page, text)


def methods(page, text):
    """The names Type.Member in a page that no file of the tree has, as method or as field."""
    for m in re.finditer(r"`([A-Za-z]\w*)\.([A-Za-z]\w*)`", text):
        kind, member = m[1], m[2]
        if member in ("go", "md", "py", "sh", "yaml", "json", "txt", "com"):
            continue
        method = rf"^func \(\w* ?\*?{kind}(\[[^]]*\])?\) {member}[(\[]"
        field = rf"^(type |\t){kind} struct \{{[^}}]*?^\t+(\w+, )*{member}\b"
        if kind in sections() or kind in packages():
            continue  # a key of the configuration, or a name with its package
        if not any(re.search(method, code, re.M) or re.search(field, code, re.M) for code in tree()):
            yield f"{page}:{text[:m.start()].count(chr(10)) + 1}: no type {kind} has {member}"


@functools.cache
def tree():
    return [f.read_text() for d in ["cmd", "stream", "model", "codec", "config"] for f in pathlib.Path(d).rglob("*.go")]


@functools.cache
def packages():
    return {f.name for d in ["cmd", "stream", "model", "codec", "config"] for f in pathlib.Path(d).rglob("*") if f.is_dir()} | {
        "model", "codec", "stream", "config"}


@functools.cache
def sections():
    """The first parts of the keys of the configuration."""
    return set(re.findall(r'yaml:"(\w+)', pathlib.Path("config/config.go").read_text()))


def arrows():
    """The arrows between packages, without those that follow from others."""
    out = subprocess.run(["go", "list", "-json=ImportPath,Imports", "./..."], check=True, capture_output=True, text=True).stdout
    to, decoder, at = {}, json.JSONDecoder(), 0
    while at < len(out.rstrip()):
        p, at = decoder.raw_decode(out, at)
        at += len(out[at:]) - len(out[at:].lstrip())
        short = p["ImportPath"].removeprefix("liftstream/")
        if not any(x in short for x in LEFT_OUT):
            to[short] = {i.removeprefix("liftstream/") for i in p.get("Imports") or [] if i.startswith("liftstream/")}
    to = {p: {i for i in all if i in to} for p, all in to.items()}
    below = {}

    def reach(p):
        if p not in below:
            below[p] = set().union(*({i} | reach(i) for i in to[p])) if to[p] else set()
        return below[p]

    return {(p, i) for p in to for i in to[p] if not any(i in reach(o) for o in to[p] if o != i)}, set(to)


def short(p):
    return re.sub(r"\W", "_", p)


def picture():
    lines, nodes = arrows()
    groups = {}
    for n in sorted(nodes):
        groups.setdefault(n.split("/")[0], []).append(n)
    out = ["flowchart TD"]
    for g in ["cmd", "stream", "codec", "model", "config"]:
        out.append(f"  subgraph {g}_[{g}]")
        for n in groups[g]:
            label = "liftstream" if n == "cmd/liftstream" else n if n == g else n.split("/", 1)[1].replace("liftstream/internal/", "").replace("internal/", "")
            out.append(f"    {short(n)}[{label}]")
        out.append("  end")
    out += [f"  {short(a)} --> {short(b)}" for a, b in sorted(lines)]
    return "\n".join(out) + "\n"


def main():
    page = pathlib.Path("ARCHITECTURE.md")
    text = page.read_text()
    before, rest = text.split(START, 1)
    drawn, after = rest.split(END, 1)
    new = picture()
    if "--write" in sys.argv:
        page.write_text(before + START + new + END + after)
        drawn = new
    bad = list(names())
    for line in sorted(set(new.split("\n")) - set(drawn.split("\n"))):
        bad.append(f"ARCHITECTURE.md: the picture lacks {line.strip()}")
    for line in sorted(set(drawn.split("\n")) - set(new.split("\n"))):
        bad.append(f"ARCHITECTURE.md: the picture has {line.strip()}, and the code has not")
    print("\n".join(bad))
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()

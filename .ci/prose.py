#!/usr/bin/env python3
"""Counts the free relative clauses of Go comments: "what is committed", "whoever stops it", "those that died".

prose.py [--list] [--most N] [DIR...]    prints the clauses per 100 comment lines, by package and over all, and the
lines of Go files and pages that are longer than 120 characters. With --list each clause is printed, too. It ends with
status 1 where the clauses over all exceed N (default .4) per 100 comment lines, or a line is too long. Generated files
and testdata are left out, and so are the tables of pages and their lines with an address."""
import argparse, collections, pathlib, re, sys

CLAUSE = re.compile(
    r"\b(what(?:ever|soever)?|who(?:m|so)?ever|whichever|"
    r"(?:those|that|all) (?:that|who|which)\b(?! is\b.*\bis\b)|those who)\b", re.I)


def comments(text):
    """The comment lines of a file, with their numbers. Directives are no comments."""
    block = False
    for number, line in enumerate(text.split("\n"), 1):
        if block:
            yield number, line.split("*/")[0]
            block = "*/" not in line
            continue
        s = line.lstrip()
        if s.startswith("//"):
            if not s.startswith(("//go:", "//nolint", "//line")):
                yield number, s[2:]
        elif s.startswith("/*"):
            yield number, s[2:].split("*/")[0]
            block = "*/" not in s
        else:  # behind code; a // inside a string has no blank before and behind it
            at = line.rfind(" // ")
            if at >= 0 and line[:at].count('"') % 2 == 0 and line[:at].count("`") % 2 == 0:
                yield number, line[at + 4:]


def too_long(f, text):
    """The lines of a file that are longer than 120 characters."""
    page = f.suffix == ".md"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 120 and not (page and (line.startswith("|") or "://" in line)):
            print(f"{f}:{number}: {len(line)} characters")
            yield line


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--list", action="store_true")
    p.add_argument("--most", type=float, default=.4)
    p.add_argument("dirs", nargs="*", default=["cmd", "stream", "model", "codec", "config", "deploy", ".ci"])
    o = p.parse_args()
    lines, clauses, long = collections.Counter(), collections.Counter(), 0
    for f in sorted(f for d in o.dirs for f in pathlib.Path(d).rglob("*.go")):
        text = f.read_text()
        if "testdata" in f.parts or re.search(r"^// Code generated .* DO NOT EDIT\.$", text, re.M):
            continue
        for number, line in comments(text):
            lines[f.parent] += 1
            found = CLAUSE.findall(line)
            clauses[f.parent] += len(found)
            if found and o.list:
                print(f"{f}:{number}: {line.strip()}")
        long += len(list(too_long(f, text)))
    for f in sorted(pathlib.Path(".").glob("*.md")) + sorted(f for d in o.dirs for f in pathlib.Path(d).rglob("*.md")):
        long += len(list(too_long(f, f.read_text())))
    for d in sorted(lines):
        print(f"{d}: {clauses[d]} of {lines[d]} comment lines, {100 * clauses[d] / lines[d]:.1f} per 100")
    rate = 100 * clauses.total() / max(lines.total(), 1)
    print(f"all: {clauses.total()} of {lines.total()} comment lines, {rate:.1f} per 100; {long} lines too long")
    sys.exit(rate > o.most or long > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Counts the free relative clauses of Go comments: "what is committed", "whoever stops it", "those that died".

prose.py [--list] [--most N] [DIR...]    prints the clauses per 100 comment lines, by package and over all, and the lines
that are longer than 120 characters. With --list each clause and long line is printed. It ends with
status 1 where the clauses over all exceed N (default 2) per 100 comment lines, or a line is too long. Generated files
and testdata are left out."""
import argparse, collections, pathlib, re, sys

CLAUSE = re.compile(r"\b(what(?:ever|soever)?|who(?:m|so)?ever|whichever|(?:those|that|all) (?:that|who|which)\b(?! is\b.*\bis\b)|those who)\b", re.I)
RAW = re.compile(r"^\s*//")


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


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--list", action="store_true")
    p.add_argument("--most", type=float, default=2)
    p.add_argument("dirs", nargs="*", default=["cmd", "stream", "model", "codec", "config", "deploy"])
    o = p.parse_args()
    lines, clauses, long = collections.Counter(), collections.Counter(), 0
    for d in o.dirs:
        for f in sorted(pathlib.Path(d).rglob("*.go")):
            text = f.read_text()
            if "testdata" in f.parts or re.search(r"^// Code generated .* DO NOT EDIT\.$", text, re.M):
                continue
            for number, line in comments(text):
                lines[f.parent] += 1
                found = CLAUSE.findall(line)
                clauses[f.parent] += len(found)
                if found and o.list:
                    print(f"{f}:{number}: {line.strip()}")
            for number, line in enumerate(text.split("\n"), 1):
                if len(line) > 120:
                    long += 1
                    if o.list:
                        print(f"{f}:{number}: {len(line)} characters")
    for d in sorted(lines):
        print(f"{d}: {clauses[d]} of {lines[d]} comment lines, {100 * clauses[d] / lines[d]:.1f} per 100")
    rate = 100 * clauses.total() / max(lines.total(), 1)
    print(f"all: {clauses.total()} of {lines.total()} comment lines, {rate:.1f} per 100; {long} lines longer than 120 characters")
    sys.exit(rate > o.most or long > 0)


if __name__ == "__main__":
    main()

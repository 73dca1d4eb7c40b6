#!/usr/bin/env python3
"""Fails where a type has more than 25 methods or a Go file more than 500 lines.

Generated files and testdata are left out. EXCEPTIONS names the ones that stay, each with its reason."""
import collections, pathlib, re, sys

METHODS, LINES = 25, 500
EXCEPTIONS = {}

methods, bad = collections.Counter(), []
for d in ["cmd", "stream", "model", "codec", "config", "deploy", ".ci"]:
    for f in sorted(pathlib.Path(d).rglob("*.go")):
        text = f.read_text()
        if "testdata" in f.parts or re.search(r"^// Code generated .* DO NOT EDIT\.$", text, re.M):
            continue
        if text.count("\n") > LINES:
            bad.append((str(f), f"{text.count(chr(10))} lines"))
        for name in re.findall(r"^func \((?:\w+ )?\*?(\w+)(?:\[[^\]]*\])?\) \w+", text, re.M):
            methods[f"{f.parent}.{name}"] += 1
bad += [(t, f"{n} methods") for t, n in methods.items() if n > METHODS]
for what, how in sorted(bad):
    if what not in EXCEPTIONS:
        print(f"{what}: {how}")
sys.exit(any(what not in EXCEPTIONS for what, _ in bad))

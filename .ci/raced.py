#!/usr/bin/env python3
"""Guards the tests that the race detector leaves out for computing only (modeltest.Computes): none of them starts a
goroutine, a process, a broker, a server or a stage, and package model starts goroutines in model/share.go alone."""
import pathlib, re, sys

GOROUTINE = re.compile(r"^\s*(go [\w.]+[({]|go func)|\.Go\(", re.M)
STARTS = re.compile(GOROUTINE.pattern + r"|\bexec\.|\bembedded\.|\bhttptest\.|\bnewWorld|\bworlds\(|\bstart\(|"
                    r'\bspawn\(|\bbuildBinary\(|streamtest\.|"(run|demo|broker|bootstrap|produce|tail|compare)"', re.M)

# A literal, or a comment to the end of its line.
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/', re.S)


def code(text):
    """The text without its comments. Two slashes within a literal begin none."""
    return TOKEN.sub(lambda m: "" if m[0].startswith("/") else m[0], text)


bad = []
for f in sorted(pathlib.Path(".").rglob("*.go")):
    text = code(f.read_text())
    if f.parts[0] == "model" and not f.name.endswith("_test.go") and f.as_posix() != "model/share.go":
        bad += [f"{f}: a goroutine outside model/share.go: {m[0].strip()}" for m in GOROUTINE.finditer(text)]
    if f.name.endswith("_test.go"):
        for m in re.finditer(r"^func (\w+)\(.*?\{\n(.*?)^\}", text, re.M | re.S):
            if "modeltest.Computes(" in m[2] and (found := STARTS.search(m[2])):
                bad.append(f"{f}: {m[1]} computes only, but has {found[0].strip()}")
print("\n".join(bad), end="\n" if bad else "")
sys.exit(1 if bad else 0)

"""Reads `go test -json`, prints failures, totals and the slowest tests, and fails when a test failed or was skipped.

usage: summary.py [--short] FILE [TEST ...]: the tests named have a run of their own, in which they are not skipped, or
run on the other broker. With --short any test may be skipped.
"""
import json
import sys

arguments = sys.argv[1:]
short = arguments[0] == "--short"
file, *elsewhere = arguments[short:]
status, output, seconds = {}, {}, {}
for line in open(file):
    try:
        e = json.loads(line)
    except ValueError:
        print(line, end="")
        continue
    key = (e.get("Package", ""), e.get("Test", ""))
    if e["Action"] in ("output", "build-output"):
        output.setdefault((e.get("Package", e.get("ImportPath", "")), e.get("Test", "")), []).append(e.get("Output", ""))
    elif e["Action"] in ("pass", "fail", "skip", "build-fail"):
        if e["Action"] == "build-fail":
            key = (e.get("ImportPath", ""), "(build)")
        if status.get(key) != "fail":  # of another half of the package
            status[key] = "fail" if "fail" in e["Action"] else e["Action"]
        seconds[key] = e.get("Elapsed", 0)
bad = False
for (package, test), s in sorted(status.items()):
    if s == "fail" or s == "skip" and test and test not in elsewhere and not short:
        bad = True
        print(f"--- {s.upper()}: {package} {test}")
        print("".join(output.get((package, test), [])[-120:] or output.get((package, ""), [])[-120:]))
tests = [s for (_, test), s in status.items() if test]
print(f"{tests.count('pass')} passed, {tests.count('fail')} failed, {tests.count('skip')} skipped")
slow = sorted(((s, *key) for key, s in seconds.items() if key[1] and "/" not in key[1]), reverse=True)[:10]
if len(tests) > 100:
    print("slowest: " + ", ".join(f"{package.rsplit('/', 1)[1]} {test} {s:.0f} s" for s, package, test in slow))
sys.exit(1 if bad else 0)

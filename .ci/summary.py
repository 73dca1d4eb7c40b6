"""Reads `go test -json`, prints failures and totals, and fails when a test failed or was skipped.

usage: summary.py FILE [TEST ...]: the tests named have a run of their own, in which they are not skipped, or run on the
other broker.
"""
import json
import sys

status, output = {}, {}
for line in open(sys.argv[1]):
    try:
        e = json.loads(line)
    except ValueError:
        print(line, end="")
        continue
    key = (e.get("Package", ""), e.get("Test", ""))
    if e["Action"] in ("output", "build-output"):
        output.setdefault((e.get("Package", e.get("ImportPath", "")), e.get("Test", "")), []).append(e.get("Output", ""))
    elif e["Action"] in ("pass", "fail", "skip", "build-fail"):
        status[key if e["Action"] != "build-fail" else (e.get("ImportPath", ""), "(build)")] = "fail" if "fail" in e["Action"] else e["Action"]
bad = False
for (package, test), s in sorted(status.items()):
    if s == "fail" or s == "skip" and test and test not in sys.argv[2:]:
        bad = True
        print(f"--- {s.upper()}: {package} {test}")
        print("".join(output.get((package, test), [])[-60:] or output.get((package, ""), [])[-60:]))
tests = [s for (_, test), s in status.items() if test]
print(f"{tests.count('pass')} passed, {tests.count('fail')} failed, {tests.count('skip')} skipped")
sys.exit(1 if bad else 0)

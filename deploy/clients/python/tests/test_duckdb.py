"""The statements of deploy/clients/README.md run on scores as the program writes them (codec/testdata)."""

from __future__ import annotations

import pathlib
import re

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[4]
PAGE = (ROOT / "deploy/clients/README.md").read_text()


def test_statements_of_the_page() -> None:
    statements = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    assert len(statements) == 3
    scores = str(ROOT / "codec/testdata/scores.jsonl")
    rows = [duckdb.execute(s.replace("scores.jsonl", scores)).fetchall() for s in statements]
    assert [r[:2] for r in rows[0]] == [(None, 1), ("später", 1)]
    assert {(r[0], r[1], r[2]) for r in rows[1]} == {
        ("emp.rate", "-1.5e-09", 1),
        ("2nd job", "x; y", 1),
        ("emp.rate", None, 1),
    }
    assert len(rows[2]) == 4

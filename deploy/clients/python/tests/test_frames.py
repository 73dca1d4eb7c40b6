"""Frames of all kinds become the same message, and partitions are those of Java's clients."""

from __future__ import annotations

import importlib
from typing import Any

import pyarrow as pa
import pytest

import liftstream

COLUMNS: dict[str, list[Any]] = {"member": ["a", "b"], "n": [1, None], "x": [0.5, 1.5]}
TABLE = pa.table(COLUMNS)


def frame(kind: str) -> Any:
    match kind:
        case "table":
            return TABLE
        case "batch":
            return TABLE.to_batches()[0]
        case "columns":
            return COLUMNS
        case "rows":
            return TABLE.to_pylist()
        case "pandas":
            return TABLE.to_pandas(types_mapper=importlib.import_module("pandas").ArrowDtype)
        case "polars":
            return importlib.import_module("polars").from_arrow(TABLE)
        case "duckdb":
            return importlib.import_module("duckdb").from_arrow(TABLE)
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["table", "batch", "columns", "rows", "pandas", "polars", "duckdb"])
def test_frames_become_the_same_message(kind: str) -> None:
    assert liftstream.from_message(liftstream.to_message(frame(kind))).to_pylist() == TABLE.to_pylist()


def test_an_index_of_pandas_is_no_column() -> None:
    cut = frame("pandas").iloc[1:]
    assert liftstream.to_table(cut).column_names == list(COLUMNS)


def test_frames_without_rows_are_messages() -> None:
    assert liftstream.from_message(liftstream.to_message(TABLE.slice(0, 0))).schema == TABLE.schema


@pytest.mark.parametrize("bad", [3, None, "text", [1, 2]])
def test_other_things_are_no_frames(bad: Any) -> None:
    with pytest.raises((TypeError, pa.ArrowInvalid)):
        liftstream.to_table(bad)


@pytest.mark.parametrize(
    ("key", "hash_"),
    [
        # The test of Kafka's own murmur2 (clients, UtilsTest) has these numbers.
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
    ],
)
def test_partitions_are_those_of_java(key: str, hash_: int) -> None:
    for partitions in (1, 3, 64, 1000):
        want = (hash_ & 0x7FFFFFFF) % partitions
        assert liftstream.partition_of(key, partitions) == liftstream.partition_of(key.encode(), partitions) == want


def test_there_is_no_partition_of_none() -> None:
    with pytest.raises(ValueError, match="no 0 partitions"):
        liftstream.partition_of("a", 0)

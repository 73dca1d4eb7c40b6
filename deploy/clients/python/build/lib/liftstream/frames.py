"""Data frames as Arrow messages, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa


class ArrowStream(Protocol):
    """Data of the Arrow PyCapsule interface: pyarrow, pandas from 2.2, polars from 1.3, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Frame: TypeAlias = ArrowStream | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]


def to_table(frame: Frame) -> Any:
    """A pyarrow table of a frame, of columns by name, or of a list of rows. A pandas index is left out."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "iloc"):  # pandas, whose stream would carry the index along
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    if isinstance(frame, Mapping):
        return pa.table(dict(frame))
    if isinstance(frame, Sequence) and all(isinstance(row, Mapping) for row in frame):
        return pa.Table.from_pylist([dict(row) for row in frame])
    raise TypeError(f"{type(frame).__name__} is no data frame, columns by name, or list of rows")


def to_message(frame: Frame) -> bytes:
    """The value of a message: one Arrow IPC stream."""
    table = to_table(frame)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    value: bytes = sink.getvalue().to_pybytes()
    return value


def from_message(value: bytes) -> Any:
    """The pyarrow table of a message. Raises pyarrow.ArrowInvalid where the bytes are none."""
    return pa.ipc.open_stream(value).read_all()

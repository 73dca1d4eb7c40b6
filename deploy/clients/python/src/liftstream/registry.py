"""Rows of messages in JSON, and of Avro by a schema registry."""

from __future__ import annotations

import importlib
import io
import json
import struct
import urllib.request
from collections.abc import Mapping
from typing import Any

FRAME = 5  # a zero byte and the id of the schema


class Registry:
    """The schemas of a registry, one that speaks the REST interface of Confluent's. Each is asked for once."""

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, timeout: float = 10) -> None:
        """headers go with each request, such as Authorization."""
        self._url, self._headers, self._timeout = url.rstrip("/"), dict(headers or {}), timeout
        self._known: dict[int, Any] = {}

    def schema(self, id: int) -> Any:
        """The schema of an id. Raises urllib.error.URLError where the registry does not answer or has none."""
        if id not in self._known:
            request = urllib.request.Request(f"{self._url}/schemas/ids/{id}", headers=self._headers)
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                self._known[id] = json.loads(json.load(answer)["schema"])
        return self._known[id]


def rows(value: bytes, registry: Registry | None = None) -> list[dict[str, Any]] | None:
    """The rows of a message of JSON or Avro, by the names of its columns; None for one of Arrow.

    Avro needs a registry, and fastavro (pip install 'liftstream[avro]'). Raises ValueError where the bytes are no rows.
    """
    if value[:1] == b"\0" and value[FRAME : FRAME + 1] != b"{":
        if registry is None:
            raise ValueError("the message is Avro: name the schema registry, as in registry='http://localhost:8081'")
        return [_avro(value, registry)]
    text = value[FRAME:] if value[:1] == b"\0" else value
    if text.lstrip()[:1] != b"{":
        return None
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _avro(value: bytes, registry: Registry) -> dict[str, Any]:
    fastavro = importlib.import_module("fastavro")
    if len(value) < FRAME:
        raise ValueError("the message ends inside the id of its schema")
    (id,) = struct.unpack(">I", value[1:FRAME])
    schema = registry.schema(id)
    data = io.BytesIO(value[FRAME:])
    try:
        row = fastavro.schemaless_reader(data, schema)
    except Exception as e:
        raise ValueError(f"the message is no record of schema {id}: {e!r}") from e
    if data.read(1):
        raise ValueError(f"bytes follow the record of schema {id}")
    # A name that Avro does not allow stands in an attribute of its field.
    return {f.get("column", f["name"]): row[f["name"]] for f in schema["fields"]}

"""Messages of JSON and Avro are the rows that the program wrote (codec/testdata)."""

from __future__ import annotations

import http.server
import json
import pathlib
import threading
import urllib.error
from collections.abc import Iterator

import pytest

import liftstream

TESTDATA = pathlib.Path(__file__).resolve().parents[4] / "codec/testdata"
ID = b"\x01\x00\x00\x02"
ROWS = [json.loads(line) for line in (TESTDATA / "scores.jsonl").read_text().splitlines()]


@pytest.fixture
def registry() -> Iterator[liftstream.Registry]:
    """A registry that has the schema of the scores."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == f"/schemas/ids/{int.from_bytes(ID, 'big')}" and self.headers["Authorization"] == "x"
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"schema": (TESTDATA / "scores.avsc").read_text()}).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield liftstream.Registry(f"http://127.0.0.1:{server.server_port}/", headers={"Authorization": "x"})
        server.shutdown()


def test_avro_is_the_rows_of_the_program(registry: liftstream.Registry) -> None:
    messages = (TESTDATA / "scores.avro").read_bytes().split(b"\0" + ID)[1:]
    assert len(messages) == len(ROWS)
    for value, want in zip(messages, ROWS, strict=True):
        (got,) = liftstream.from_message(b"\0" + ID + value, registry).to_pylist()
        assert got.keys() == want.keys()
        close = {"time", "percentile", "relevance"}  # microseconds, and single precision
        assert {k: v for k, v in got.items() if k not in close} == {k: v for k, v in want.items() if k not in close}
        assert got["time"].year == int(want["time"][:4])
        assert (got["percentile"] or 0) == pytest.approx(want["percentile"] or 0, rel=1e-6)


@pytest.mark.parametrize("frame", [b"", b"\0" + ID])
def test_json_is_its_rows(frame: bytes) -> None:
    text = (TESTDATA / "scores.jsonl").read_bytes()
    assert liftstream.from_message(frame + text).to_pylist() == ROWS
    assert liftstream.from_message(b'{"a": 1}\n{"b": 2.5}').to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": 2.5}]


@pytest.mark.parametrize("bad", [b"", b"\0", b"\0" + ID, b"\0" + ID + b"\x07", b"{", b"text"])
def test_damage_is_an_error_of_value(registry: liftstream.Registry, bad: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  each fault has a text of its own
        liftstream.from_message(bad, registry)


def test_avro_says_that_it_needs_its_registry(registry: liftstream.Registry) -> None:
    with pytest.raises(ValueError, match="name the schema registry"):
        liftstream.from_message(b"\0" + ID + b"\x02")
    with pytest.raises(urllib.error.URLError):
        liftstream.from_message(b"\0\0\0\0\1" + b"\x02", registry)

"""Headers of dead letters, and those of their messages that have the same names."""

from __future__ import annotations

import pytest

from liftstream.reading import DeadLetter, Message, _letter


def letter(prefix: str, **own: bytes) -> DeadLetter:
    headers = {
        "reason": b"schema",
        "error": b"no column x",
        "stage": b"events",
        "topic": b"shop-events",
        "partition": b"2",
        "offset": b"7",
    }
    return _letter(Message(0, 5, None, b"", {**own, **{prefix + k: v for k, v in headers.items()}}))


@pytest.mark.parametrize("prefix", ["liftstream-", ""])
def test_a_letter_has_its_place(prefix: str) -> None:
    got = letter(prefix)
    assert (got.reason, got.topic, got.partition, got.offset, got.row) == ("schema", "shop-events", 2, 7, None)


def test_headers_of_the_message_are_not_the_letters() -> None:
    """A message has a header row of its own, and its letter is of the whole message."""
    assert letter("liftstream-", row=b"seat 14", reason=b"renewal").row is None

"""Reading ahead changes nothing but time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sidrec.data.read_ahead import read_ahead


def test_items_come_in_order() -> None:
    assert list(read_ahead(iter(range(50)))) == list(range(50))


def test_an_error_arrives_after_what_came_before_it() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    seen = []
    with pytest.raises(ValueError, match="broken"):
        for item in read_ahead(source()):
            seen.append(item)
    assert seen == [1]


def test_a_reader_that_stops_early_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    ahead = read_ahead(iter(range(1000)))
    assert next(ahead) == 0
    ahead.close()  # type: ignore[attr-defined]
    assert not set(threading.enumerate()) - before

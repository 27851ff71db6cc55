from __future__ import annotations

import os

import pytest

from sidrec.core import memory


def test_the_limit_is_as_set_or_what_the_machine_has(monkeypatch):
    monkeypatch.setenv(memory.LIMIT, "2")
    assert memory.memory_limit() == 2 << 30
    monkeypatch.setenv(memory.LIMIT, "much")
    monkeypatch.setattr(memory, "_container", lambda: 1 << 62)
    assert memory.memory_limit() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(("text", "limit"), [("max\n", 1 << 62), ("4096\n", 4096), (None, 1 << 62)])
def test_a_container_that_has_less_counts(monkeypatch, tmp_path, text, limit):
    if text is not None:
        (tmp_path / "memory.max").write_text(text)
    monkeypatch.delenv(memory.LIMIT, raising=False)
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path / "memory.max")
    monkeypatch.setattr(memory, "_machine", lambda: 1 << 62)
    assert memory.memory_limit() == limit


def test_too_large_says_how_large(monkeypatch):
    monkeypatch.setenv(memory.LIMIT, "2")
    assert memory.too_large(2 << 30) is None
    assert memory.too_large(3 << 30) == (
        "asks for 3.0 GB of memory, the limit is 2.0 GB (raise it with SIDREC_MEMORY_LIMIT_GB)"
    )

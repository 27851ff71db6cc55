from __future__ import annotations

import csv

import pytest

from sidrec.core.errors import InputError
from sidrec.data.id_text import split_ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("a", ["a"]),
        ("a, b,,c", ["a", "b", "c"]),
        ('"a,b",c', ["a,b", "c"]),
        ("a\nb\r\nc", ["a", "b", "c"]),
        ("a,b\nc", ["a", "b", "c"]),
    ],
)
def test_ids_of_a_text(text: str, ids: list[str]) -> None:
    assert split_ids(text) == ids


def test_what_is_no_list_is_one_sentence() -> None:
    before = csv.field_size_limit(1_000)
    try:
        with pytest.raises(InputError, match=r"is no list of item ids; write a,b,c"):
            split_ids("x" * 2_000)
    finally:
        csv.field_size_limit(before)

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.column_test import ColumnTest
from sidrec.data.item_filter import ItemFilter, united


def test_the_forms_of_one_filter() -> None:
    text = ItemFilter.of("brand=Acme and 1<=price<5")
    assert text == ItemFilter.of({"brand": "Acme", "price": {">=": "1", "<": "5"}})
    assert ItemFilter.of(text) is not None and str(text) == "brand=Acme and 1<=price<5"
    ids = ItemFilter((ColumnTest("item_id", ("1", "x")),))
    for several in (["1", "x"], ("1", "x"), iter([1, "x"]), pl.Series(["1", "x"]), np.array(["1", "x"])):
        assert ItemFilter.of(several) == ids
    assert ItemFilter.of({"a": [1, None], "b": {"not": "x"}}).tests == (
        ColumnTest("a", (1, None)),
        ColumnTest("b", ("x",), negated=True),
    )
    assert ItemFilter.of({"n": np.int64(3)}).tests[0].values == (3,)


def test_each_column_of_a_mapping_denies_by_itself_and_text_as_it_reads() -> None:
    assert len(ItemFilter.each({"a": 1, "b": 2})) == 2
    assert len(ItemFilter.each("a=1 and b=2")) == 1
    one, other = ItemFilter.of("a=1"), ItemFilter.of("b=2")
    assert ItemFilter.each([one, other]) == (one, other)
    assert ItemFilter.of([one, other]).tests == (*one.tests, *other.tests)


def test_options_that_name_values_of_one_column_are_united() -> None:
    found = united([ItemFilter.of(text) for text in ("a=1", "b<2", "a=3", "not a=4", "a=5 and b=6")])
    assert [str(each) for each in found] == ["a=1,3", "b<2", "not a=4", "a=5 and b=6"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("12", "cannot be read"),
        (12, "deny is int; a filter is text"),
        (b"12", "deny is bytes"),
        ([1.5], "item id 1.5, which is no text"),
        ([True], "item id True"),
        ([None], "item id None"),
        ([["a"]], r"item id \['a'\]"),
        ({3: "x"}, "columns are named by text"),
        ({"price": {"~": 3}}, "takes a low bound"),
        ({"price": {">": 3, ">=": 3}}, "each once"),
        ({"price": {}}, "takes a low bound"),
        ({"price": [[1]]}, "not list"),
        ({"price": {"<": [1]}}, "not list"),
        ({"price": b"x"}, "not bytes"),
    ],
)
def test_what_is_no_filter_is_refused(wanted: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ItemFilter.of(wanted, "deny")  # type: ignore[arg-type]

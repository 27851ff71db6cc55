from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.core.notices import SidrecWarning
from sidrec.data.catalog import Catalog
from sidrec.models.ranking import Ranking
from sidrec.models.stock import Stock

CATALOG = Catalog(pl.DataFrame({"item_id": ["a", "b", "c"], "title": ["A", None, "C"], "brand": ["x", "y", "x"]}))


@pytest.fixture
def stock() -> Stock:
    return Stock(CATALOG, np.array([3, 0, 1]))


def test_new_items_stand_behind_the_old_ones_and_were_never_bought(stock: Stock) -> None:
    new = pl.DataFrame({"item_id": ["d"], "title": ["D"], "brand": ["z"]})
    grown = stock.without_items(["b"]).with_items(new, None)
    assert grown.catalog.item_ids.to_list() == ["a", "b", "c", "d"] and grown.counts.tolist() == [3, 0, 1, 0]
    assert grown.removed is not None and grown.removed.tolist() == [False, True, False, False]
    assert len(stock) == 3 and stock.removed is None and not stock.changed


def test_what_changed_has_a_name(stock: Stock) -> None:
    assert stock.fingerprint == ""
    one, other = stock.without_items(["a"]), stock.without_items(["b"])
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == stock.without_items(["a"]).fingerprint


@pytest.mark.parametrize(
    ("item_ids", "words"),
    [("ab", "a list of item ids"), (["a", "zz"], "'zz' is not in the catalogue"), (["a", "b", "c"], "every item")],
)
def test_removals_that_cannot_be_are_refused(stock: Stock, item_ids: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        stock.without_items(item_ids)


def test_removed_items_come_back_all_or_none(stock: Stock) -> None:
    gone = stock.without_items(["a", "b"])
    for wrong, words in (("ab", "a list of item ids"), (["a", "zz"], "'zz' is not in the catalogue")):
        with pytest.raises(InputError, match=words):
            gone.with_items_back(wrong)
    back = gone.with_items_back(["a", "c"])  # c was never gone
    assert back.removed is not None and back.removed.tolist() == [False, True, False]
    assert back.with_items_back(["b"]).removed is None and gone.removed is not None and gone.removed.sum() == 2


def test_filters_by_hand(stock: Stock) -> None:
    def mask(allow: object, deny: object) -> list[bool]:
        found = stock.filtered(allow, deny).mask  # type: ignore[arg-type]
        assert found is not None
        return found.tolist()

    assert stock.filtered(None, None).mask is None
    with pytest.warns(SidrecWarning, match="1 of the 2 item ids of a filter are not in the catalogue, such as 'zz'"):
        assert mask(["a", "zz"], None) == [True, False, False]
    assert mask({"brand": ["x"]}, ["c"]) == [True, False, False]
    assert mask(None, {"brand": ["x"]}) == [False, True, False]


def test_an_answer_in_the_callers_words(stock: Stock) -> None:
    ranking = Ranking(np.array([[1, 0], [2, -1]], np.int32), np.array([[0.5, 0.25], [1, -np.inf]], np.float32))
    answer = stock.answer(ranking, [False, True], [0, 2])
    assert answer.item_ids == [["b", "a"], ["c"]] and answer.titles == [["b", "A"], ["C"]]
    assert answer.scores == [[0.5, 0.25], [1.0]] and answer.fallback == [False, True] and answer.unknown_items == [0, 2]


def test_ids_in_any_container_and_nothing_else(stock: Stock) -> None:
    one = stock.without_items({"a"})
    assert one.removed is not None and one.removed.tolist() == [True, False, False]
    assert stock.without_items(pl.Series(["a"])).fingerprint == one.fingerprint
    back = one.with_items_back(item_id for item_id in ["a", "b"])
    assert back.removed is None
    for odd in (None, 5, {"a": 1}, pl.DataFrame({"item_id": ["a"]})):
        with pytest.raises(InputError, match="a list of item ids"):
            stock.without_items(odd)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'zz' is not in the catalogue; nothing was restored"):
        one.with_items_back(["zz"])

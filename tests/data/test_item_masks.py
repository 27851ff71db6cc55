from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.slow_filter import keeps
from sidrec.core.errors import InputError
from sidrec.data import item_masks
from sidrec.data.catalog import Catalog

FRAME = pl.DataFrame(
    {
        "item_id": ["a", "b", "c", "d"],
        "brand": ["Acme", "Zoll", None, "Acme"],
        "price": [5.0, 20.0, float("nan"), None],
        "in_stock": [True, False, None, True],
        "tags": [["x", "y"], ["y", None], [], None],
        "added": [datetime(2024, 5, 1), datetime(2024, 5, 2, 12), None, datetime(2024, 6, 1)],
        "code": ["007", "7", "12", "x9"],
        "weight": ["1.5", "20", None, "3"],
        "sold_out": ["true", "False", "TRUE", None],
        "sizes": [[1, 2], [30], None, [4]],
        "grade": pl.Series(["q", "r", "q", None], dtype=pl.Categorical),
        "day": [date(2024, 5, 1), date(2024, 5, 2), None, date(2024, 6, 1)],
        "many": [2**60, 2**60 + 1, 0, None],
        "shape": [{"w": 1}] * 4,
    }
)
CATALOG = Catalog(FRAME)


def kept(allow: Any = None, deny: Any = None) -> str:
    found = CATALOG.masks.allowed(allow, deny).mask
    assert found is not None
    return "".join(FRAME["item_id"].filter(pl.Series(found)).to_list())


@pytest.mark.parametrize(
    ("allow", "items"),
    [
        ("brand=Acme", "ad"),
        ({"brand": "Acme"}, "ad"),
        ("brand=Acme,Zoll", "abd"),
        ("not brand=Acme", "bc"),
        ("brand=null", "c"),
        ("price<20", "a"),
        ("5<=price<=20", "ab"),
        ("not price<20", "bcd"),
        ("price=null", "cd"),
        ({"price": 20}, "b"),
        ({"price": "5"}, "a"),
        ({"in_stock": [False]}, "b"),
        ("in_stock=yes", "ad"),
        ({"in_stock": [None, 0]}, "bc"),
        ("tags=x", "a"),
        ("tags=y", "ab"),
        ("not tags=y", "cd"),
        ("tags=null", "cd"),
        ("added<2024-05-02", "a"),
        ("2024-05-01<=added<2024-05-03", "ab"),
        ({"added": {">=": date(2024, 5, 2)}}, "bd"),
        ({"added": datetime(2024, 5, 2, 12, tzinfo=UTC)}, "b"),
        ("day=2024-05-02", "b"),
        ("code=7", "b"),
        ({"code": 7}, "b"),
        ("weight>=3", "bd"),
        ({"sold_out": True}, "ac"),
        ("sizes=30", "b"),
        ("1<sizes<4", "a"),
        ("grade=q", "ac"),
        ({"many": 2**60 + 1}, "b"),
        ("item_id=a,c", "ac"),
        (["a", "c"], "ac"),
        ("not item_id=a", "bcd"),
        ("brand=Acme and price<20", "a"),
        ({"brand": "Acme", "in_stock": True}, "ad"),
        ([], ""),
        ({}, "abcd"),
    ],
)
def test_by_hand(allow: Any, items: str) -> None:
    assert kept(allow) == items
    if not isinstance(allow, dict):
        assert set(kept(deny=allow)) == set("abcd") - set(items)


def test_denied_columns_each_deny_and_text_denies_what_meets_all_of_it() -> None:
    assert kept(deny={"brand": "Zoll", "tags": "x"}) == "cd"
    assert kept(deny="brand=Acme and tags=x") == "bcd"
    assert kept(allow={"brand": "Acme"}, deny=["a"]) == "d"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("colour=red", "has no column colour; it has: item_id"),
        ("brnd=x", "has no column brnd; did you mean brand?"),
        ("price=cheap", "holds numbers, and 'cheap' is none"),
        ({"price": "<20"}, "write price<20"),
        ("price<nan", "'nan' is none"),
        ("in_stock=perhaps", "holds true and false, and 'perhaps' is none"),
        ("in_stock<1", "have no order"),
        ("added=yesterday", "holds times such as"),
        ({"added": 5}, "holds times"),
        ("brand<M", "is text such as 'Acme', so it has no ranges"),
        ("code<8", "is text such as 'x9'"),
        ("shape=1", "no filter can compare"),
    ],
)
def test_what_cannot_be_meant_is_refused(wanted: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        CATALOG.masks.allowed(wanted, None)


@pytest.mark.parametrize(
    ("wanted", "note"),
    [
        ("brand=acme", "no item has brand=acme; did you mean Acme?"),
        ("brand=Acme,Zol", "no item has brand=Zol; did you mean Zoll?"),
        ("tags=z", "no item has tags=z."),
        ("price<0", "no item has price<0."),
        ("not price=3", "no item has price=3."),
        (["a", "zz", "yy"], "2 of the 3 item ids of a filter are not in the catalogue, such as 'zz'."),
    ],
)
def test_a_value_that_no_item_has_is_told(wanted: Any, note: str) -> None:
    assert CATALOG.masks.allowed(wanted, None).notes == (note,)
    assert CATALOG.masks.allowed(None, wanted).notes == (note,)
    assert CATALOG.masks.allowed("brand=Acme", None).notes == ()


def test_masks_are_kept_and_cannot_be_changed(monkeypatch) -> None:
    masks = Catalog(FRAME).masks
    first = masks.allowed("brand=Acme", None).mask
    assert first is not None and masks.allowed({"brand": ["Acme"]}, None).mask is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = False
    monkeypatch.setattr(item_masks, "KEPT_BYTES", 0)
    for number in range(5):
        masks.allowed({"price": number}, None)
    again = masks.allowed("brand=Acme", None).mask
    assert again is not first and np.array_equal(again, first)


def test_columns_that_repeat_are_ready_before_they_are_named(monkeypatch) -> None:
    frame = pl.DataFrame(
        {
            "item_id": [f"i{number}" for number in range(40)],
            "brand": ["Acme", "Zoll"] * 20,
            "title": [f"thing {number}" for number in range(40)],
            "price": [1.0] * 40,
            "tags": [["x"], ["y", "x"]] * 20,
            "shape": [{"w": 1}] * 40,
        }
    )
    made: list[str] = []
    real = item_masks.filter_column
    monkeypatch.setattr(item_masks, "filter_column", lambda column: made.append(column.name) or real(column))
    catalog = Catalog(frame)
    catalog.masks.prepare()
    assert made == ["brand", "price", "tags", "shape"], "words that hardly repeat wait until they are named"
    assert catalog.masks.allowed("brand=Acme and price<2 and tags=x", None).mask.sum() == 20
    assert len(made) == 4


WORDS = st.sampled_from(["Acme", "acme", "true", "False", "1", "007", "a b", "", "ß"])
CELLS = {
    "text": (pl.String(), WORDS),
    "number": (pl.Float64(), st.sampled_from([0.0, 1.0, -2.5, 20.0, float("nan")])),
    "whole": (pl.Int64(), st.integers(-2, 3)),
    "truth": (pl.Boolean(), st.booleans()),
    "day": (pl.Date(), st.dates(date(2024, 1, 1), date(2024, 1, 4))),
    "words": (pl.List(pl.String()), st.lists(st.none() | WORDS, max_size=3)),
    "numbers": (pl.List(pl.Float64()), st.lists(st.none() | st.sampled_from([0.0, 1.0, 2.0]), max_size=3)),
}
NUMBERS = st.sampled_from([0, 1, -2.5, "1", "20", 3.0])
DAYS = st.sampled_from(["2024-01-02", date(2024, 1, 3), "2024-01-02T12:00:00"])
VALUES = {
    "text": WORDS | st.booleans() | st.integers(0, 1),
    "number": NUMBERS,
    "whole": NUMBERS,
    "truth": st.sampled_from([True, False, 0, 1, "yes", "No", "true"]),
    "day": DAYS,
    "words": WORDS,
    "numbers": NUMBERS,
}


@st.composite
def wanted(draw: st.DrawFn) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for column in draw(st.lists(st.sampled_from(list(CELLS)), max_size=3, unique=True)):
        value = VALUES[column]
        forms = [value, st.lists(st.none() | value, max_size=3), st.fixed_dictionaries({"not": value})]
        if column not in ("text", "truth", "words"):
            forms.append(st.fixed_dictionaries({">=": value}, optional={"<": value, "not": value}))
        found[column] = draw(st.one_of(forms))
    return draw(st.sampled_from([found, found, None]))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 12), wanted(), wanted())
@pytest.mark.slow
def test_random_filters_over_random_catalogues_equal_the_slow_twin(data, n_items, allow, deny) -> None:
    columns = {
        name: pl.Series(name, data.draw(st.lists(st.none() | cells, min_size=n_items, max_size=n_items)), dtype=kind)
        for name, (kind, cells) in CELLS.items()
    }
    frame = pl.DataFrame([pl.Series("item_id", [f"i{n}" for n in range(n_items)]), *columns.values()])
    found = Catalog(frame).masks.allowed(allow, deny).mask
    expected = [keeps(row, allow, deny) for row in frame.iter_rows(named=True)]
    assert [True] * n_items == expected if found is None else found.tolist() == expected

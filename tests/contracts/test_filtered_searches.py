"""Filters hold for every model that searches, in every way of searching and for every engine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts import test_recommenders as suite
from reference.slow_filter import keeps
from sidrec.core.errors import SettingsError
from sidrec.models.capabilities import Exports, Searches

SEARCHERS = [row.key for row in suite.MODELS if issubclass(row.load_class(), Searches)]
EXPORTERS = [row.key for row in suite.MODELS if issubclass(row.load_class(), Exports)]
ORDERS = ("adaptive", "left-to-right", "right-to-left")
WAYS = [
    *({"order": order, "n_steps": steps} for order in ORDERS for steps in (1, 4)),
    {"method": "score-fitting"},
    {"method": "score-all"},
    {"beam_size": 3},
    {"method": "full"},
]


def is_way_of(key, way) -> bool:
    """Not every model searches in every way: some learned one order only."""
    try:
        suite.build(key).parsed_search(way)
    except SettingsError:
        return False
    return True


PAIRS = [(key, way) for key in SEARCHERS for way in WAYS if is_way_of(key, way)]


PRICES = st.integers(-1, 33)
RANGES = st.fixed_dictionaries({">=": PRICES}, optional={"<": PRICES, "not": PRICES})
COLUMNS: dict[str, Any] = {
    "price": PRICES | st.lists(PRICES, max_size=4) | RANGES,
    "in_stock": st.booleans() | st.lists(st.booleans(), max_size=2),
    "categories": st.sampled_from(suite.data().catalog.frame["categories"].explode().unique().to_list()),
    "item_id": st.lists(st.integers(0, 31).map("thing-{}".format), max_size=40),
}
WANTED = st.none() | st.fixed_dictionaries({}, optional=COLUMNS)


def fuzz(model) -> None:
    """Whatever is asked: nothing comes back that item-by-item reading of the filters would leave out."""
    rows = list(suite.data().catalog.frame.iter_rows(named=True))

    @settings(max_examples=6, deadline=None, derandomize=True, database=None)
    @given(WANTED, WANTED, st.booleans())
    def ask(allow, deny, exclude_seen) -> None:
        left = {row["item_id"] for row in rows if keeps(row, allow, deny)}
        answer = model.recommend([*suite.HISTORIES, []], k=32, allow=allow, deny=deny, exclude_seen=exclude_seen)
        for history, ids in zip([*suite.HISTORIES, []], answer.item_ids, strict=True):
            assert {*ids} <= left - ({*history} if exclude_seen else set())
            assert len({*ids}) == len(ids)

    ask()


def check(model, filters, left) -> None:
    answer = model.recommend(suite.HISTORIES, k=32, **filters)
    assert all(answer.item_ids)
    for ids in answer.item_ids:
        assert {int(item_id.removeprefix("thing-")) for item_id in ids} <= left


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")
@pytest.mark.parametrize(("key", "way"), PAIRS, ids=str)
def test_nothing_denied_comes_back_however_one_searches(key, way) -> None:
    for filters, left in suite.FILTERS:
        check(suite.fitted(key).with_search(way), filters, left)
    fuzz(suite.fitted(key).with_search(way))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")
@pytest.mark.parametrize("engine", ["onnx", "openvino"])
@pytest.mark.parametrize("key", EXPORTERS)
def test_nothing_denied_comes_back_whoever_computes(key, engine, tmp_path) -> None:
    model = suite.fitted(key).with_engine(engine, tmp_path / "graphs")
    for filters, left in suite.FILTERS:
        check(model, filters, left)
    fuzz(model)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")
@pytest.mark.parametrize("key", [row.key for row in suite.MODELS])
def test_nothing_denied_comes_back_whoever_recommends(key) -> None:
    fuzz(suite.fitted(key))

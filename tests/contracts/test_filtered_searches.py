"""Filters hold for every model that searches, in every way of searching and for every engine."""

from __future__ import annotations

import pytest

from contracts import test_recommenders as suite
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


def check(model, filters, left) -> None:
    answer = model.recommend(suite.HISTORIES, k=32, **filters)
    assert all(answer.item_ids)
    for ids in answer.item_ids:
        assert {int(item_id.removeprefix("thing-")) for item_id in ids} <= left


@pytest.mark.slow
@pytest.mark.parametrize(("key", "way"), PAIRS, ids=str)
def test_nothing_denied_comes_back_however_one_searches(key, way) -> None:
    for filters, left in suite.FILTERS:
        check(suite.fitted(key).with_search(way), filters, left)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["onnx", "openvino"])
@pytest.mark.parametrize("key", EXPORTERS)
def test_nothing_denied_comes_back_whoever_computes(key, engine, tmp_path) -> None:
    model = suite.fitted(key).with_engine(engine, tmp_path / "graphs")
    for filters, left in suite.FILTERS:
        check(model, filters, left)

"""Filters hold for every model that searches, in every way of searching and for every engine."""

from __future__ import annotations

import pytest

from contracts import test_recommenders as suite
from sidrec.models.capabilities import Exports
from sidrec.models.sid_generator import SidGenerator

SEARCHERS = [key for key in suite.KEYS if issubclass(suite.find_model(key).load_class(), SidGenerator)]
EXPORTERS = [key for key in suite.KEYS if issubclass(suite.find_model(key).load_class(), Exports)]
ORDERS = ("adaptive", "left-to-right", "right-to-left")
WAYS = [
    *({"order": order, "n_steps": steps} for order in ORDERS for steps in (1, 4)),
    {"method": "score-fitting"},
    {"method": "score-all"},
    {"beam_size": 3},
]


def check(model, filters, left) -> None:
    answer = model.recommend(suite.HISTORIES, k=32, **filters)
    assert all(answer.item_ids)
    for ids in answer.item_ids:
        assert {int(item_id.removeprefix("thing-")) for item_id in ids} <= left


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("key", SEARCHERS)
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

"""What every model of the registry promises. A new model passes by having its row in the registry.

`TINY` holds settings that make a row fast; a row without an entry gets small widths and one epoch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from sidrec.core.artifacts import open_artifact
from sidrec.core.errors import ArtifactError, InputError, SettingsError
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.data.synthetic import clusters
from sidrec.models.base import Recommender
from sidrec.models.registry import MODELS, find_model, load_model
from sidrec.models.request import Request

SMALL = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32, "dropout": 0.0}
ONCE = {"epochs": 1, "batch_size": 64}
QUICK_IDS = {"options": {"codebook_size": 8, "training": {"epochs": 5}}}
SOURCE = {"from_model": "sasrec-ce", "model_settings": {"d_model": 8, "n_layers": 1, "training": ONCE}}
TINY: dict[str, dict[str, Any]] = {
    "popularity": {},
    "tiger": {**SMALL, "d_head": 8, "embedding": {"encoder": "tfidf"}, "tokenize": QUICK_IDS, "training": ONCE},
    "tiger-sas": {**SMALL, "d_head": 8, "embedding": SOURCE, "tokenize": QUICK_IDS, "training": ONCE},
    "letter": {
        **SMALL,
        "d_head": 8,
        "embedding": {"encoder": "tfidf"},
        "tokenize": {"collaborative": SOURCE, **QUICK_IDS},
        "training": ONCE,
    },
}
HEAVY = ("tiger", "tiger-sas", "letter", "lc-rec", "vq-rec", "rpg", "llada-rec")
"""Rows that train their tokenizer, another model, or a network of a large library."""
KEYS = [pytest.param(row.key, marks=[pytest.mark.slow] if row.key in HEAVY else []) for row in MODELS]
HISTORIES = [["thing-1", "thing-2"], ["thing-9"], ["thing-30", "thing-25", "thing-27"], ["thing-17", "thing-16"]]


@cache
def data() -> Dataset:
    found = clusters(n_clusters=4, cluster_size=8, n_users=60, length=6)
    facts = {"price": [float(item) for item in range(32)], "in_stock": [item % 3 > 0 for item in range(32)]}
    return replace(found, catalog=Catalog(found.catalog.frame.with_columns(pl.DataFrame(facts))))


def tiny(key: str) -> dict[str, Any]:
    if key in TINY:
        return TINY[key]
    fields = find_model(key).load_class().settings_class.model_fields
    widths = {name: value for name, value in SMALL.items() if name in fields}
    return {**widths, **({"training": {"epochs": 1, "batch_size": 64}} if "training" in fields else {})}


def build(key: str) -> Recommender:
    return find_model(key).make(**tiny(key))


@cache
def fitted(key: str) -> Recommender:
    return build(key).fit(data())


@pytest.fixture(params=KEYS)
def key(request) -> str:
    return request.param


def test_the_row_describes_its_class(key):
    row = find_model(key)
    assert issubclass(row.load_class(), Recommender)
    assert len(row.summary) > 10
    with pytest.raises(SettingsError, match="no_such_setting is not a setting"):
        row.make(no_such_setting=1)
    assert row.make().key == key


def test_k_distinct_real_items_with_falling_scores(key):
    answer = fitted(key).recommend(HISTORIES, k=5)
    known = dict(zip(data().catalog.item_ids.to_list(), data().catalog.titles, strict=True))
    for ids, titles, scores in zip(answer.item_ids, answer.titles, answer.scores, strict=True):
        assert len(set(ids)) == len(ids) == 5
        assert [known[item_id] for item_id in ids] == titles
        assert all(first >= second for first, second in pairwise(scores))
        assert np.isfinite(scores).all()
    assert answer.fallback == [False] * 4
    assert answer.unknown_items == [0] * 4


def test_seen_items_are_left_out_when_asked(key):
    answer = fitted(key).recommend(HISTORIES, k=28, exclude_seen=True)
    for history, ids in zip(HISTORIES, answer.item_ids, strict=True):
        assert not set(history) & set(ids)
        assert len(ids) == min(28, 32 - len(history))


def test_allowed_and_denied_ids_are_respected(key):
    allow = [f"thing-{number}" for number in (1, 2, 9, 20, 21, 31)]
    answer = fitted(key).recommend(HISTORIES, k=3, allow=allow, deny=["thing-20", "thing-2"])
    for ids in answer.item_ids:
        assert len(ids) == 3
        assert set(ids) <= {"thing-1", "thing-9", "thing-21", "thing-31"}


def test_a_catalogue_column_filters(key):
    place = data().catalog.frame["categories"][0][1]
    inside = set(data().catalog.item_ids.to_list()[:8])
    allowed = fitted(key).recommend(HISTORIES, k=4, allow={"categories": [place]})
    denied = fitted(key).recommend(HISTORIES, k=10, deny={"categories": [place]})
    assert all(set(ids) <= inside and len(ids) == 4 for ids in allowed.item_ids)
    assert all(not set(ids) & inside and len(ids) == 10 for ids in denied.item_ids)
    with pytest.raises(InputError, match="no column colour"):
        fitted(key).recommend(HISTORIES, allow={"colour": ["red"]})


FILTERS: list[tuple[dict[str, Any], set[int]]] = [
    ({"deny": {"in_stock": [False]}}, {item for item in range(32) if item % 3 > 0}),
    ({"deny": {"in_stock": False, "price": {">=": 20}}}, {item for item in range(20) if item % 3 > 0}),
    ({"deny": "in_stock=false and price>=20"}, {item for item in range(32) if item < 20 or item % 3 > 0}),
    ({"allow": "5<=price<20 and in_stock=true", "deny": ["thing-7"]}, {5, 8, 10, 11, 13, 14, 16, 17, 19}),
    ({"allow": {"price": {"<": 9, "not": 3}}}, {0, 1, 2, 4, 5, 6, 7, 8}),
]


def test_nothing_denied_comes_back(key):
    for filters, left in FILTERS:
        answer = fitted(key).recommend([*HISTORIES, [], ["no-such"]], k=32, **filters)
        for ids in answer.item_ids:
            assert {int(item_id.removeprefix("thing-")) for item_id in ids} == left, filters
        assert answer.notes == ()


def test_more_asked_than_allowed_gives_all_that_is_allowed(key):
    answer = fitted(key).recommend(HISTORIES, k=10, allow=["thing-1", "thing-2", "thing-9"], exclude_seen=True)
    assert [set(ids) for ids in answer.item_ids] == [
        {"thing-9"},
        {"thing-1", "thing-2"},
        {"thing-1", "thing-2", "thing-9"},
        {"thing-1", "thing-2", "thing-9"},
    ]
    assert [len(scores) for scores in answer.scores] == [1, 2, 3, 3]
    everything = fitted(key).recommend(HISTORIES[:1], k=10**12)  # more than fits into memory
    assert sorted(everything.item_ids[0]) == sorted(data().catalog.item_ids.to_list())
    nothing = fitted(key).recommend(HISTORIES, k=3, allow=[])
    assert nothing.item_ids == [[]] * 4


def test_empty_and_unknown_histories_get_the_popular_items_and_say_so(key):
    answer = fitted(key).recommend([[], ["no-such"], ["thing-3", "no-such", "nor-this"]], k=4)
    counts = data().train_counts()
    popular = [f"thing-{item}" for item in np.lexsort((np.arange(32), -counts))[:4]]
    assert answer.item_ids[:2] == [popular, popular]
    assert answer.fallback == [True, True, False]
    assert answer.unknown_items == [0, 1, 2]
    assert answer.item_ids[2] == fitted(key).recommend([["thing-3"]], k=4).item_ids[0]


def test_the_company_in_a_batch_changes_nothing(key):
    model = fitted(key)
    together = model.recommend([*HISTORIES, []], k=6, exclude_seen=True)
    for number, history in enumerate(HISTORIES):
        alone = model.recommend([history], k=6, exclude_seen=True)
        assert alone.item_ids[0] == together.item_ids[number]
        assert alone.scores[0] == pytest.approx(together.scores[number], abs=1e-4)


def test_rank_speaks_the_same_language(key):
    cases = data().cases("test")
    ranking = fitted(key).rank(Request(cases.histories, 40, exclude_seen=True))
    assert ranking.items.shape == ranking.scores.shape == (len(cases), 40)
    for history, items, scores in zip(cases.histories, ranking.items, ranking.scores, strict=True):
        left = 32 - len(set(history.tolist()))
        assert set(items[:left].tolist()) == set(range(32)) - set(history.tolist())
        assert (items[left:] == -1).all()
        assert (scores[left:] == -np.inf).all()


def test_a_saved_model_answers_the_same(key, tmp_path):
    model = fitted(key)
    path = model.save(tmp_path / "model")
    loaded = load_model(path)
    assert (type(loaded), loaded.key) == (type(model), key)
    assert loaded.settings == model.settings
    assert loaded.trained_on == data().fingerprint == open_artifact(path, "model").made_from["dataset"]
    histories = [*HISTORIES, []]
    assert loaded.recommend(histories, k=7, exclude_seen=True) == model.recommend(histories, k=7, exclude_seen=True)


def test_a_damaged_model_is_refused(key, tmp_path):
    path = fitted(key).save(tmp_path / "model")
    largest = max((file for file in path.iterdir() if file.name != "manifest.json"), key=lambda f: f.stat().st_size)
    largest.write_bytes(largest.read_bytes()[:-1])
    with pytest.raises(ArtifactError, match=largest.name):
        load_model(path)


def test_an_unfitted_model_says_so(key, tmp_path):
    model = build(key)
    with pytest.raises(InputError, match=f"this {model.key} is not fitted yet"):
        model.recommend([["thing-1"]])
    with pytest.raises(InputError, match="not fitted yet"):
        model.rank(Request(data().cases("test").histories, 3))
    with pytest.raises(InputError, match="not fitted yet"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_same_seed_gives_the_same_model(key):
    again = build(key).fit(data())
    assert again.recommend(HISTORIES, k=10) == fitted(key).recommend(HISTORIES, k=10)


def test_what_users_did_in_the_test_part_does_not_reach_the_model(key):
    whole = data()
    items = whole.sequences.items.copy()
    last = whole.sequences.offsets[1:] - 1
    items[last] = (items[last] + 11) % whole.n_items
    other = replace(whole, sequences=Histories(items, whole.sequences.offsets))
    assert other.cases("test").targets.tolist() != whole.cases("test").targets.tolist()
    again = build(key).fit(other)
    assert again.recommend([*HISTORIES, []], k=10) == fitted(key).recommend([*HISTORIES, []], k=10)

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.notices import SidrecWarning
from sidrec.data.synthetic import clusters, cycle
from sidrec.models.popularity import Popularity, PopularitySettings
from sidrec.models.ranking import Recommendations
from sidrec.models.stock import popular_items


@pytest.fixture
def model() -> Popularity:
    return Popularity().fit(cycle(n_items=6, n_users=9, length=5))


def test_popular_items_by_hand():
    items, scores = popular_items(np.array([3, 5, 5, 0]), 3, None)
    assert items.tolist() == [1, 2, 0]  # the tie goes to the lower index
    assert scores == pytest.approx(np.log([6 / 17, 6 / 17, 4 / 17]))


def test_popular_items_fill_up_where_too_few_are_allowed():
    items, scores = popular_items(np.array([3, 5, 5, 0]), 3, np.array([True, False, False, True]))
    assert items.tolist() == [0, 3, -1]
    assert scores[2] == -np.inf


def test_fit_sees_only_the_training_part(model):
    data = cycle(n_items=6, n_users=9, length=5)
    expected = np.zeros(6, dtype=int)
    for row in data.sequences:
        expected[row[:-2]] += 1
    assert model.counts.tolist() == expected.tolist()


def test_fit_with_out_saves(tmp_path):
    data = cycle(n_items=6, n_users=9, length=5)
    Popularity().fit(data, out=tmp_path / "model")
    assert Popularity.load(tmp_path / "model").trained_on == data.fingerprint


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.recommend([["stop-1"]], k=0), "k is 0; ask for a whole number"),
        (lambda m: m.recommend([["stop-1"]], k="5"), "k is '5'; ask for a whole number"),
        (lambda m: m.recommend([["stop-1"]], users="u"), "users is a list of user ids"),
        (lambda m: m.recommend("stop-1"), "histories is a list of histories"),
        (lambda m: m.recommend(["stop-1"]), "histories is a list of histories"),
        (lambda m: m.recommend([["stop-1"]], allow="stop-2"), "the filter 'stop-2' cannot be read.*item ids as a list"),
        (lambda m: m.recommend([["stop-1"]], deny="stop-2"), "the filter 'stop-2' cannot be read"),
        (lambda m: m.recommend([["stop-1"]], deny={"brand": ["x"]}), "no column brand; it has: item_id, title"),
    ],
)
def test_wrong_requests_in_words(model, call, words):
    with pytest.raises(InputError, match=words):
        call(model)


def test_nobody_asks_and_nobody_is_answered(model):
    assert model.recommend([]) == Recommendations([], [], [], [], [])


def test_unknown_filter_ids_are_told_and_no_error(model):
    with pytest.warns(SidrecWarning, match="1 of the 2 item ids of a filter are not in the catalogue, such as 'gone'"):
        answer = model.recommend([["stop-1"]], k=2, allow=["stop-3", "gone"])
    assert answer.item_ids == [["stop-3"]] and "such as 'gone'" in answer.notes[0] and "'gone'" in repr(answer)
    with pytest.warns(SidrecWarning):
        assert len(model.recommend([["stop-1"]], k=6, deny=["gone"]).item_ids[0]) == 6


def test_a_filter_on_a_list_column_means_contains():
    data = clusters(n_clusters=3, cluster_size=5, n_users=20, length=4)
    model = Popularity().fit(data)
    mask = model.stock.filtered({"categories": ["kitchen 0"]}, None).mask
    assert mask is not None
    assert mask.tolist() == [True] * 5 + [False] * 10
    assert model.stock.filtered(None, None).mask is None


def test_recommendations_as_a_frame():
    answer = Recommendations([["a", "b"], []], [["A", "B"], []], [[2.0, 1.0], []], [False, True], [0, 3])
    expected = pl.DataFrame(
        {
            "request": [0, 0],
            "rank": [1, 2],
            "item_id": ["a", "b"],
            "title": ["A", "B"],
            "score": [2.0, 1.0],
            "fallback": [False, False],
        }
    )
    assert answer.to_frame().equals(expected)


def test_either_a_settings_object_or_single_settings():
    with pytest.raises(SettingsError, match="not both"):
        Popularity(PopularitySettings(), width=3)

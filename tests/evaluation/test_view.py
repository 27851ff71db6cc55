"""Last week's model on this week's data, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sidrec import verbs
from sidrec.core.errors import InputError
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.data.synthetic import clusters
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import Evaluation, OtherData
from sidrec.evaluation.view import View
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.popularity import Popularity


def shop(item_ids: str, users: dict[str, str]) -> Dataset:
    """Users by name, their items by letter; the last two are held out."""
    catalog = Catalog(pl.DataFrame({"item_id": list(item_ids), "title": [f"thing {name}" for name in item_ids]}))
    rows = Histories.from_lists([catalog.index_of(list(items)) for items in users.values()])
    return Dataset(
        catalog, pl.Series("user_id", list(users)), rows, rows.lengths - 2, rows.lengths - 1
    ).with_content_fingerprint()


OLD = shop("abcd", {"u": "aabc", "v": "bacd", "w": "aabb"})  # trained on aa, ba, aa: a is popular, then b
NEW = shop("xdcba", {"u": "aabcxa", "v": "bacdxx", "w": "aabbxb", "y": "xxc", "z": "xdc"})


def test_items_are_mapped_by_id_unknown_ones_are_misses() -> None:
    model = Popularity().fit(OLD)
    result = evaluate(model, NEW, EvaluationSettings(ks=(1, 4)), view=View.of(model, NEW, training=OLD))
    ranks = dict(result.ranks.select("user_id", "rank").rows())
    assert ranks == {"u": 0, "v": -1, "w": 1, "y": 2, "z": 2}  # a first, then b, c and d; x is unknown
    assert result.other_data == OtherData(unknown_items=1, unknown_targets=1, left_out_users=0)
    assert result.recall[4] == pytest.approx(4 / 5)
    assert result.ranks["target_count"].to_list() == [5, 0, 1, 0, 0]
    assert "1 items of this data are unknown to it, and for 1 users" in repr(result)


def test_items_that_the_data_lack_are_no_candidates() -> None:
    model = Popularity().fit(OLD)
    small = shop("cdb", {"p": "bcdb", "q": "dcb"})
    result = evaluate(model, small, view=View.of(model, small, training=OLD))
    assert result.ranks["rank"].to_list() == [0, 0]  # without a, b is the most popular


def test_users_whose_answer_was_learned_are_left_out(tmp_path: Path) -> None:
    OLD.save(tmp_path / "old")
    model = Popularity().fit(Dataset.load(tmp_path / "old"))
    other = shop("abcd", {"u": "aca", "v": "cba", "w": "abcc"})  # the second a of u and the a of v were learned
    result = evaluate(model, other)
    assert result.ranks["user_id"].to_list() == ["w"]
    assert result.other_data is not None and result.other_data.left_out_users == 2
    with pytest.raises(InputError, match=r"another training part .* held-out item of every user included"):
        evaluate(model, shop("abcd", {"u": "aca", "v": "cba"}))


def test_what_cannot_be_told_is_refused() -> None:
    model = Popularity().fit(OLD)
    with pytest.raises(InputError, match=r"another training part of this catalogue.*are not on the disk.*say where"):
        evaluate(model, NEW)
    assert verbs.evaluate(model, NEW, trained_on=OLD).users == 5
    with pytest.raises(InputError, match=r"another catalogue \(4 items, the data has 2\) and knows none of its items"):
        evaluate(model, shop("pq", {"u": "pqp"}))


def test_its_own_data_is_nothing_special() -> None:
    model = Popularity().fit(OLD)
    result = evaluate(model, OLD)
    assert result.other_data is None and "other_data" not in result.findings()


def test_it_is_kept(tmp_path: Path) -> None:
    model = Popularity().fit(OLD)
    result = verbs.evaluate(model, NEW, trained_on=OLD, out=tmp_path / "e")
    assert Evaluation.load(tmp_path / "e").other_data == result.other_data is not None


@pytest.mark.slow
def test_a_generator_is_asked_for_those_it_knows() -> None:
    """Users of whose history nothing is known get popular items, wherever they stand."""
    week = clusters(n_clusters=3, cluster_size=5, n_users=30, length=5)
    ids = {"tokenizer": "rq-kmeans", "options": {"n_codes": 2, "codebook_size": 8, "pca": None}}
    small = {"d_model": 16, "n_heads": 2, "n_layers": 1, "max_history": 4, "embedding": {"encoder": "tfidf"}}
    training = {"epochs": 1, "metric": None}
    model = LLaDARec(**small, tokenize=ids, training=training, beam_size=15).fit(week)
    frame = pl.concat([pl.DataFrame({"item_id": ["x"]}), week.catalog.frame], how="diagonal")
    rows = Histories.from_lists([[0, 0, 3], [3, 4, 5], [0, 0, 0]])
    users = pl.Series("user_id", ["empty", "known", "stranger"])
    data = Dataset(Catalog(frame), users, rows, rows.lengths - 2, rows.lengths - 1).with_content_fingerprint()
    result = evaluate(model, data, EvaluationSettings(ks=(15,)), view=View.of(model, data, training=week))
    popular = np.lexsort((np.arange(15), -model.counts)).tolist()
    asked = model.recommend([["thing-2", "thing-3"]], k=15).item_ids[0]
    assert result.ranks["rank"].to_list() == [popular.index(2), asked.index("thing-4"), -1]
    assert result.ranks["code_rank"].to_list() == result.ranks["rank"].to_list()

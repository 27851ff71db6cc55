from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch

from reference.learning import quick
from sidrec.core.errors import InputError, SettingsError
from sidrec.data.catalog import Catalog
from sidrec.data.synthetic import clusters, cycle
from sidrec.models.gru4rec import GRU4Rec
from sidrec.models.item_objective import ItemObjective
from sidrec.models.item_scorer import AttentionSettings
from sidrec.models.request import Request
from sidrec.models.sasrec import SASRec, SASRecSoftmax
from sidrec.models.stock import Stock
from sidrec.nn.item_vectors import NOTHING_KNOWN

TINY = quick(epochs=1)


def test_scores_are_dot_products_with_the_exported_vectors():
    data = clusters(n_clusters=3, cluster_size=6, n_users=40, length=5)
    model = SASRecSoftmax(**TINY).fit(data)
    cases = data.cases("test")
    ranking = model.rank(Request(cases.histories, 4))
    vectors = model.item_vectors()
    assert vectors.shape == (18, 32)
    assert model.network is not None
    history = torch.from_numpy(cases.histories[0][-8:].astype(np.int64))[None]
    with torch.no_grad():
        query = model.network.queries(history)[0].numpy()
    expected = vectors @ query
    assert ranking.items[0].tolist() == np.argsort(-expected)[:4].tolist()
    np.testing.assert_allclose(ranking.scores[0], np.sort(expected)[::-1][:4], rtol=1e-4)


def test_only_the_newest_items_are_looked_at():
    model = GRU4Rec(**quick(epochs=1, max_history=3)).fit(cycle(n_items=20, n_users=30))
    ids = [f"stop-{i}" for i in range(8)]
    long, short = model.recommend([ids, ids[-3:]], k=5).scores
    np.testing.assert_allclose(long, short, rtol=1e-5)


def test_the_best_epoch_is_chosen_on_the_same_users_whatever_the_seed():
    data = cycle(n_users=50)
    samples = [
        GRU4Rec(validation_users=10, training={"seed": seed})._validation_sample(data).users.tolist() for seed in (0, 1)
    ]
    assert samples[0] == samples[1]
    assert len(samples[0]) == 10


def test_settings_keep_their_defaults_when_one_of_a_section_is_given():
    model = GRU4Rec(training={"epochs": 3})
    assert model.settings.training.epochs == 3
    assert model.settings.training.metric == "ndcg@10"


def test_heads_must_divide_the_width():
    with pytest.raises(SettingsError, match="n_heads = 3 does not divide d_model = 64"):
        SASRecSoftmax(n_heads=3)
    assert AttentionSettings(n_heads=4).n_heads == 4


def test_an_unfitted_model_says_so():
    with pytest.raises(InputError, match="not fitted yet"):
        SASRecSoftmax().item_vectors()
    with pytest.raises(InputError, match="not fitted yet"):
        SASRecSoftmax().recommend([["a"]])


def test_a_killed_fit_goes_on_where_it_stood(tmp_path, monkeypatch):
    data, settings = cycle(n_items=20, n_users=30), quick(epochs=3)
    settings["training"]["checkpoint_seconds"] = 0.0
    whole = GRU4Rec(**settings).fit(data)
    with monkeypatch.context() as patch:
        patch.setattr(ItemObjective, "after_epoch", kill_after_the_second_epoch)
        with pytest.raises(KeyboardInterrupt):
            GRU4Rec(**settings).fit(data, out=tmp_path / "model")
    steps: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(ItemObjective, "draw", lambda self, n_rows, generator: steps.append(n_rows) or ())
        resumed = GRU4Rec(**settings).fit(data, out=tmp_path / "model")
    assert len(steps) == 2
    np.testing.assert_allclose(resumed.item_vectors(), whole.item_vectors(), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(GRU4Rec.load(tmp_path / "model").item_vectors(), resumed.item_vectors())
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def kill_after_the_second_epoch(objective, module, epoch, generator):
    if epoch == 1:
        raise KeyboardInterrupt
    return {}


def large(index_from: int | None, n_items: int = 9000) -> SASRec:
    """A network of random weights over more items than a list of candidates holds."""
    model = SASRecSoftmax(d_model=16, n_layers=1, n_heads=2, repeat="once", index_from=index_from)
    torch.manual_seed(0)
    model.network = model._build(n_items, NOTHING_KNOWN).eval()
    assert model.network.repeat is not None
    model.network.repeat.rho.data.fill_(0.3)
    ids = pl.DataFrame({"item_id": [str(item) for item in range(n_items)]})
    model._stock = Stock(Catalog(ids), np.arange(n_items))
    return model


def test_a_large_catalogue_is_scanned_and_its_filters_stay_exact():
    exact, scanned = large(None), large(9000)
    histories = [[str(user), str(user + 7), str(user)] for user in range(30)]
    few, most = [str(item) for item in range(0, 9000, 50)], [str(item) for item in range(0, 9000, 3)]
    for filters in ({}, {"exclude_seen": True}, {"allow": few}, {"deny": most}, {"deny": most, "exclude_seen": True}):
        wanted, found = (model.recommend(histories, k=10, **filters) for model in (exact, scanned))
        same = [len(set(a) & set(b)) / 10 for a, b in zip(wanted.item_ids, found.item_ids, strict=True)]
        assert np.mean(same) > 0.99, filters
        answers = {item for row in found.item_ids for item in row}
        assert not answers & set(filters.get("deny", ())) and answers <= set(filters.get("allow", answers))
    assert exact._near is None and scanned._near is not None
    index = scanned._near[1]
    scanned.recommend(histories)
    assert scanned._near[1] is index, "one index serves all requests"


def test_users_whom_filters_leave_few_candidates_are_scored_among_all_items():
    exact, scanned = large(None), large(1)
    near = scanned.recommend([["5"]], k=2000).item_ids[0]
    found = [model.recommend([["5"], ["900"]], k=10, deny=near) for model in (exact, scanned)]
    assert found[0].item_ids == found[1].item_ids

from __future__ import annotations

import numpy as np
import pytest
import torch

from reference.learning import quick
from sidrec.core.errors import InputError, SettingsError
from sidrec.data.synthetic import clusters, cycle
from sidrec.models.gru4rec import GRU4Rec
from sidrec.models.item_objective import ItemObjective
from sidrec.models.item_scorer import AttentionSettings
from sidrec.models.request import Request
from sidrec.models.sasrec import SASRecSoftmax

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

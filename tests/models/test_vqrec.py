from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pytest
import torch

from reference.learning import cycle_recall, quick
from sidrec.core.errors import InputError, SettingsError
from sidrec.data.synthetic import clusters
from sidrec.models.registry import load_model
from sidrec.models.vqrec import VQRec, VQRecNetwork, VQRecSettings, semi_synthetic
from sidrec.nn.item_vectors import ItemFeatures

QUICK: dict[str, Any] = {
    **quick(),
    "embedding": {"encoder": "tfidf"},
    "tokenize": {"options": {"n_codes": 4, "codebook_size": 8, "pca": 8}},
}
LONGER = QUICK | {"training": QUICK["training"] | {"epochs": 24}}
"""Until it is learned whatever the last bits of a processor's products are."""
DATA = clusters(n_clusters=4, cluster_size=8, n_users=120, length=6)


@cache
def fitted() -> VQRec:
    return VQRec(**QUICK).fit(DATA)


def network(codes: list[list[int]], sizes: tuple[int, ...], **values: Any) -> VQRecNetwork:
    torch.manual_seed(0)
    settings = VQRecSettings(d_model=4, n_layers=1, max_history=6, **values)
    return VQRecNetwork(len(codes), settings, ItemFeatures(codes=torch.tensor(codes), sizes=sizes)).eval()


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["cross-entropy", "contrastive"])
def test_the_cycle_is_learned(loss):
    assert cycle_recall(VQRec(**LONGER, loss=loss)) > 0.9


@pytest.mark.slow
def test_the_cycle_is_learned_behind_a_pre_training():
    assert cycle_recall(VQRec(**LONGER, pretraining={"epochs": 2})) > 0.9


def test_an_item_is_the_pooled_vectors_of_its_codes():
    one = network([[0, 1], [2, 0], [0, 0]], (3, 2))
    code = one.items.code.detach()  # a row for what is unknown, three codes of the first digit, two of the second
    pooled = torch.stack([code[1] + code[5], code[3] + code[4], code[1] + code[4]])
    torch.testing.assert_close(one.item_table().detach(), pooled / pooled.norm(dim=-1, keepdim=True))


def test_scores_are_cosines_by_temperature():
    one = network([[0, 1], [2, 0], [0, 0]], (3, 2), temperature=0.5)
    query = one.queries(torch.tensor([[0, 1]]))
    torch.testing.assert_close(query.norm(dim=-1), torch.tensor([2.0]))
    assert float((query @ one.item_table().T).detach().abs().max()) <= 2.0


def test_a_semi_synthetic_item_has_other_codes_of_the_same_digits():
    one = network([[0, 1], [2, 0], [0, 0]], (3, 2))
    replaced = torch.tensor([[True, False], [True, True]])
    which = torch.tensor([[0.99, 0.99], [0.4, 0.6]])
    made_up = semi_synthetic(one.items, torch.tensor([0, 1]), replaced, which)
    assert made_up.tolist() == [[3, 5], [2, 5]]  # tokens: 1..3 are the first digit's codes, 4 and 5 the second's


def test_thirty_two_digits_unless_said_otherwise():
    assert VQRec().settings.tokenize.check(100) == 32
    assert VQRec(tokenize={"options": {"pca": 64}}).settings.tokenize.check(100) == 32
    assert VQRec(tokenize={"options": {"n_codes": 8}}).settings.tokenize.check(100) == 8


def test_codes_cannot_be_left_out():
    with pytest.raises(SettingsError, match="codes are what vq-rec knows its items by"):
        VQRec(item_vectors={"codes": False, "identity": True})


def test_a_catalogue_without_text_is_refused():
    silent = type(DATA.catalog)(pl.DataFrame({"item_id": DATA.catalog.item_ids}))
    with pytest.raises(InputError, match="without text nothing is known"):
        VQRec(**QUICK).fit(type(DATA)(**{**vars(DATA), "catalog": silent}))


@pytest.mark.slow
def test_a_new_item_competes_on_the_day_it_arrives(tmp_path):
    model = VQRec(**QUICK).fit(DATA)
    like = DATA.catalog.frame.filter(pl.col("item_id") == "thing-3")
    assert model.add_items(like.with_columns(pl.lit("new").alias("item_id"))) == ["new"]
    after = model.recommend([["thing-1", "thing-2"]], k=33)
    assert after.item_ids[0].index("new") < 9  # the things of its room come first
    loaded = load_model(model.save(tmp_path / "model"))
    assert loaded.recommend([["new"], ["thing-9"]], k=33) == model.recommend([["new"], ["thing-9"]], k=33)


@pytest.mark.slow
def test_a_finished_pre_training_is_not_done_again(tmp_path, monkeypatch, capsys):
    values = {**QUICK, "pretraining": {"epochs": 1}}
    whole = VQRec(**values).fit(DATA)
    assert whole.recommend([["thing-1"]], k=8) != fitted().recommend([["thing-1"]], k=8)

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as now, pytest.raises(KeyboardInterrupt):
        now.setattr("sidrec.models.item_scorer.train", killed)
        VQRec(**values).fit(DATA, out=tmp_path / "model")
    capsys.readouterr()
    again = VQRec(**values).fit(DATA, out=tmp_path / "model")
    assert "vq-rec pre-training: already finished after 1 epochs." in capsys.readouterr().err
    assert again.recommend([["thing-1"]], k=8) == whole.recommend([["thing-1"]], k=8)


def test_the_repeat_term_needs_the_loss_that_trains_it():
    with pytest.raises(SettingsError, match="repeat needs loss = cross-entropy"):
        VQRec(loss="contrastive", repeat="once")

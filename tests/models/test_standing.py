"""What a model finds at its place: itself, a shorter training of itself, or something else."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from reference.tiny_recipe import TINY
from sidrec.data.synthetic import clusters
from sidrec.models.item_ids import ItemIds
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.popularity import Popularity
from sidrec.models.sasrec import SASRec

DATA = clusters(n_clusters=3, cluster_size=6, n_users=40, length=6)
LEVEL = {"schedule": "constant", "warmup": 0.0, "batch_size": 32, "metric": None}


def sasrec(**training: object) -> SASRec:
    return SASRec(d_model=8, n_layers=1, training={**LEVEL, **training})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("standing") / "m"
    sasrec(epochs=2).fit(DATA, out=out)
    return out


def weights(out: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in load_file(out / "weights.safetensors").items()}


@pytest.fixture
def without_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take longer than these trainings."""
    monkeypatch.setattr("sidrec.training.loop.draw_curve", lambda *_, **__: None)


@pytest.mark.parametrize(
    ("model", "same", "goes_on", "why_not"),
    [
        (sasrec(epochs=2), True, False, ""),
        (sasrec(epochs=2, device="cpu", minutes=5, checkpoint_seconds=1, keep_state=False), True, False, ""),
        (sasrec(epochs=3), False, True, ""),
        (sasrec(epochs=3, minutes=1e-9), False, False, "it has used up its 1e-09 minutes"),
        (sasrec(epochs=1), False, False, "it has had 2 epochs already"),
        (sasrec(epochs=3, seed=1), False, False, ""),
        (sasrec(epochs=3, learning_rate=1e-4), False, False, ""),
        (SASRec(d_model=8, n_layers=1, key="sasrec-ce", training={**LEVEL, "epochs": 3}), False, False, ""),
        (Popularity(), False, False, ""),
    ],
)
def test_a_place_is_judged_by_method_data_and_seed(trained, model, same, goes_on, why_not):
    found = model.standing(trained, DATA.fingerprint)
    assert (found.same, found.goes_on, found.why_not) == (same, goes_on, why_not)


def test_other_data_and_empty_places_are_something_else(trained, tmp_path):
    assert not sasrec(epochs=2).standing(trained, "other data").same
    assert sasrec(epochs=2).standing(tmp_path / "nothing", DATA.fingerprint).artifact is None


@pytest.mark.usefixtures("without_curves")
def test_a_longer_training_goes_on_as_if_it_had_been_planned_so(trained, tmp_path):
    out = shutil.copytree(trained, tmp_path / "m")
    model = sasrec(epochs=4).fit(DATA, out=out)
    sasrec(epochs=4).fit(DATA, out=tmp_path / "straight")
    assert weights(out) == weights(tmp_path / "straight")
    assert model.training_summary()["gone_on_from"] == [2]
    assert SASRec.load(out).training_summary()["epochs"] == 4
    assert len((out / "history.jsonl").read_text().splitlines()) == 4
    sasrec(epochs=4).fit(DATA, out=out, restart=True)
    assert "gone_on_from" not in SASRec.load(out).training_summary()


def cut_off(model: SASRec, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between the end of training and the saving."""
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(SASRec, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        model.fit(DATA, out=out)


@pytest.mark.usefixtures("without_curves")
def test_a_cut_off_training_is_found_by_one_of_another_length(tmp_path, monkeypatch):
    cut_off(sasrec(epochs=2), tmp_path / "m", monkeypatch)
    (left,) = tmp_path.iterdir()
    assert sasrec(epochs=1).training_directory(tmp_path / "m", DATA.fingerprint) != left
    assert sasrec(epochs=4).fit(DATA, out=tmp_path / "m").training_summary()["gone_on_from"] == [2]
    cut_off(sasrec(epochs=3, seed=1), tmp_path / "n", monkeypatch)
    shorter = sasrec(epochs=2, seed=1).fit(DATA, out=tmp_path / "n").training_summary()
    assert shorter["epochs"] == 2 and "gone_on_from" not in shorter
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "n"]


@pytest.mark.usefixtures("without_curves")
def test_more_minutes_go_on_without_a_trace(tmp_path):
    short = sasrec(epochs=3, minutes=1e-9).fit(DATA, out=tmp_path / "m")
    assert short.training_summary()["epochs"] == 1
    more = sasrec(epochs=3)
    found = more.standing(tmp_path / "m", DATA.fingerprint)
    assert (found.same, found.goes_on) == (True, True)
    more.fit(DATA, out=tmp_path / "m")
    sasrec(epochs=3).fit(DATA, out=tmp_path / "straight")
    assert weights(tmp_path / "m") == weights(tmp_path / "straight")


@pytest.mark.usefixtures("without_curves")
def test_without_its_state_a_model_begins_anew(trained, tmp_path):
    sasrec(epochs=2, keep_state=False).fit(DATA, out=tmp_path / "m")
    assert weights(tmp_path / "m") == weights(trained)
    assert not (tmp_path / "m" / "checkpoint").exists()
    assert sasrec(epochs=3).standing(tmp_path / "m", DATA.fingerprint).why_not == "its training state was not kept"
    assert "gone_on_from" not in sasrec(epochs=3).fit(DATA, out=tmp_path / "m").training_summary()


def test_what_training_left_survives_saving_again(trained, tmp_path):
    again = SASRec.load(trained).save(tmp_path / "again")
    for name in ("history.jsonl", "curve.svg", "checkpoint/optimizer.safetensors"):
        assert (again / name).read_bytes() == (trained / name).read_bytes()
    changed = SASRec.load(trained)
    changed.remove_items([DATA.catalog.item_ids[0]])
    changed.save(tmp_path / "again")
    assert (again / "history.jsonl").read_bytes() == (trained / "history.jsonl").read_bytes()
    assert not (again / "checkpoint").exists()  # of another catalogue, so nothing to go on with


@pytest.mark.usefixtures("without_curves")
@pytest.mark.slow
def test_going_on_keeps_the_semantic_ids(tmp_path, monkeypatch):
    recipe = tomllib.loads(TINY)["model"]
    del recipe["key"]

    def model(epochs: int) -> LLaDARec:
        return LLaDARec(**{**recipe, "training": {**recipe["training"], "epochs": epochs}})

    first = model(1).fit(DATA, out=tmp_path / "m")
    monkeypatch.setattr(ItemIds, "make", lambda *_: pytest.fail("made the IDs again"))
    longer = model(2).fit(DATA, out=tmp_path / "m")
    assert (longer.semantic_ids.codes == first.semantic_ids.codes).all()
    assert longer.training_summary()["epochs"] == 2

from __future__ import annotations

import pytest

from sidrec.core.errors import TrainingError
from sidrec.core.progress import SilentProgress
from sidrec.data.synthetic import cycle
from sidrec.evaluation import evaluate as judging
from sidrec.pipeline.recipes import Recipe, read_recipe
from sidrec.pipeline.train import train
from sidrec.pipeline.tuning import run_trial as room
from sidrec.pipeline.tuning.trials import Trial
from sidrec.pipeline.tuning.tune import tune
from sidrec.reports.tuning_page import write_tuning

pytestmark = pytest.mark.slow

SETTINGS = ("training.epochs=3", "d_model=8", "n_heads=1", "n_layers=1", "training.validate_every=1")
VARY = ("d_model=[4,8]", "training.learning_rate={low=0.0001,high=0.1,log=true}")


class Lines(SilentProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return cycle(n_items=20, n_users=24, length=8).save(tmp_path_factory.mktemp("data") / "shop")


@pytest.fixture(scope="module")
def tuned(data, tmp_path_factory):
    lines = Lines()
    recipe = read_recipe(None, "sasrec-ce", SETTINGS)
    return tune(data, tmp_path_factory.mktemp("run") / "out", recipe, trials=8, vary=VARY, progress=lines), lines.notes


def test_every_trial_is_one_line_and_the_best_is_the_best(tuned):
    found, notes = tuned
    assert [note.split(":")[0] for note in notes] == [f"[{n + 1}/8] trial {n}" for n in range(8)]
    assert found.best.value == max(trial.value for trial in found.trials if trial.value is not None)
    assert found.count("done") + found.count("pruned") == 8
    assert set(found.importances) == {"d_model", "training.learning_rate"}
    assert list((found.out / "trials").iterdir()) == []


def test_whoever_falls_behind_ends_there_and_leaves_nothing(data, tmp_path):
    told: list[tuple[int, float]] = []

    def tell(epoch: int, value: float) -> bool:
        told.append((epoch, value))
        return epoch == 2

    recipe, trial = read_recipe(None, "sasrec-ce", SETTINGS), Trial(7, "running", {"d_model": 8})
    ended = room.run_trial(trial, recipe, room.Bench(data, tmp_path), tell)
    assert (ended.state, ended.epochs, ended.value) == ("pruned", 2, None)
    assert [epoch for epoch, _ in told] == [1, 2]
    assert list((tmp_path / "trials").iterdir()) == []


def test_the_test_part_is_never_asked(data, tmp_path, monkeypatch):
    asked, usual = [], judging.select_cases
    monkeypatch.setattr(judging, "select_cases", lambda data, how: asked.append(how.split) or usual(data, how))
    tune(data, tmp_path / "out", read_recipe(None, "sasrec-ce", SETTINGS), trials=1)
    assert asked == ["validation"]


def test_the_best_settings_are_a_recipe_that_gives_the_same_figure(tuned, data, tmp_path):
    found, _ = tuned
    file = write_tuning(found)
    page = (found.out / "index.html").read_text(encoding="utf-8")
    assert "What mattered" in page and "training.learning_rate" in page
    assert len((found.out / "trials.csv").read_text(encoding="utf-8").splitlines()) == 9
    recipe = read_recipe(str(file))
    again = room.run_trial(Trial(99, "running", {}), recipe, room.Bench(data, tmp_path), lambda *_: False)
    assert again.value == pytest.approx(found.best.value)
    assert train(data, tmp_path / "model", recipe).model.key == "sasrec-ce"


def test_a_search_that_is_cut_off_goes_on_with_the_trial_it_was_at(data, tmp_path, monkeypatch):
    recipe, usual = read_recipe(None, "sasrec-ce", SETTINGS), room._judged

    def killed(asked: Recipe, bench: room.Bench, place) -> float:
        if place.name == "1":
            usual(asked, bench, place)
            raise KeyboardInterrupt
        return usual(asked, bench, place)

    monkeypatch.setattr(room, "_judged", killed)
    with pytest.raises(KeyboardInterrupt):
        tune(data, tmp_path / "out", recipe, trials=3, vary=VARY)
    monkeypatch.setattr(room, "_judged", usual)
    lines = Lines()
    found = tune(data, tmp_path / "out", recipe, trials=3, vary=VARY, progress=lines)
    assert [trial.state for trial in found.trials] == ["done"] * 3
    assert lines.notes[0].endswith("1 trials are there already.")
    assert [note.split(":")[0] for note in lines.notes[1:]] == ["[2/3] trial 1", "[3/3] trial 2"]


def test_settings_that_do_not_go_together_fail_their_trial_only(data, tmp_path):
    recipe = read_recipe(None, "sasrec-ce", SETTINGS)
    found = tune(data, tmp_path / "out", recipe, trials=6, vary=["n_heads=[3]"])
    assert found.count("failed") >= 1 and found.best.chosen == {"n_heads": 1}
    assert "does not divide" in next(trial.message for trial in found.trials if trial.state == "failed")


def test_where_nothing_comes_through_the_first_reason_is_said(data, tmp_path):
    recipe = read_recipe(None, "sasrec-ce", [*SETTINGS, "training.metric=ndcg@10"])
    broken = Recipe(recipe.key, {**recipe.values, "item_vectors": {"attributes": ["brand"]}}, "recipe")
    found = tune(data, tmp_path / "out", broken, trials=1, vary=["d_model=[8]"])
    with pytest.raises(TrainingError, match=r"no trial has come through; trial 0 says: .*brand"):
        _ = found.best

from __future__ import annotations

from dataclasses import replace

import pytest

from sidrec.cluster.tuning import Desk, on_ray
from sidrec.core.choices import OneOf
from sidrec.core.errors import SidrecError
from sidrec.core.progress import SilentProgress
from sidrec.data.synthetic import cycle
from sidrec.pipeline.recipes import read_recipe
from sidrec.pipeline.tuning.run_trial import Bench
from sidrec.pipeline.tuning.search import Search
from sidrec.pipeline.tuning.trials import Trials
from sidrec.pipeline.tuning.tune import tune

SETTINGS = ("training.epochs=2", "d_model=8", "n_heads=1", "n_layers=1", "training.validate_every=1")
SEARCH = Search("sasrec-ce", {"d_model": 8}, {"d_model": OneOf((4, 8))}, "data")


@pytest.fixture
def desk(tmp_path):
    """A desk for two trials, and those that ended."""
    kept, ended = Trials(tmp_path, SEARCH), []

    def hear(trial):
        ended.append(trial)
        kept.end(trial)

    with Desk(kept, SEARCH, Bench(tmp_path / "data", tmp_path), 2, hear) as made:
        yield made, ended


def test_the_desk_hands_out_trials_and_hears_how_they_end(desk):
    made, ended = desk
    first, second = made.suggest("a"), made.suggest("b")
    assert (first["trial"]["number"], second["trial"]["number"], made.suggest("c")) == (0, 1, None)
    assert first["recipe"]["values"]["d_model"] == 8
    assert not made.falls_behind("a", 1, 0.2)
    made.complete("a", {"epoch": 1, "time_total_s": 2.0}, error=False)
    made.complete("b", None, error=True)
    assert [(trial.state, trial.epochs, trial.message) for trial in ended] == [
        ("pruned", 1, ""),
        ("failed", 0, "its machines were lost"),
    ]


def test_what_is_not_over_when_the_desk_closes_is_taken_up_later(tmp_path):
    kept = Trials(tmp_path, SEARCH)
    with Desk(kept, SEARCH, Bench(tmp_path / "data", tmp_path), 1, lambda _: None) as made:
        made.suggest("a")
    with Trials(tmp_path, SEARCH).take(1) as again:
        assert again.number == 0


@pytest.mark.slow
def test_ray_runs_the_same_trials_to_the_same_figures(tmp_path):
    data = cycle(n_items=20, n_users=24, length=8).save(tmp_path / "shop")
    recipe, vary = read_recipe(None, "sasrec-ce", SETTINGS), ["d_model=[4,8]"]
    here = tune(data, tmp_path / "here", recipe, trials=2, vary=vary)
    there = tune(data, tmp_path / "there", recipe, trials=2, vary=vary, progress=SilentProgress(), engage=on_ray())
    assert [replace(trial, seconds=0.0) for trial in there.trials] == [
        replace(trial, seconds=0.0) for trial in here.trials
    ]
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["search.json", "study.journal", "trials"]


@pytest.mark.slow
def test_a_trial_that_falls_behind_ends_and_the_search_goes_on(tmp_path, monkeypatch):
    """Its worker still holds the trial's place when the search hears of the end."""
    monkeypatch.setattr(Desk, "falls_behind", lambda self, name, epoch, value: epoch == 1)
    data = cycle(n_items=20, n_users=24, length=8).save(tmp_path / "shop")
    recipe = read_recipe(None, "sasrec-ce", (*SETTINGS, "training.epochs=400"))
    found = tune(data, tmp_path / "out", recipe, trials=2, vary=["d_model=[4,8]"], engage=on_ray())
    assert [trial.state for trial in found.trials] == ["pruned", "pruned"]
    assert list((tmp_path / "out" / "trials").iterdir()) == []


@pytest.mark.slow
def test_what_no_trial_can_do_is_said_once(tmp_path):
    data = cycle(n_items=20, n_users=24, length=8).save(tmp_path / "shop")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trials").touch()
    recipe = read_recipe(None, "sasrec-ce", SETTINGS)
    with pytest.raises(SidrecError, match="trials"):
        tune(data, tmp_path / "out", recipe, trials=2, vary=["d_model=[4,8]"], engage=on_ray())

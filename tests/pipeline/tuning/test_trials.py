from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from sidrec.core.choices import Between, OneOf
from sidrec.core.errors import SettingsError
from sidrec.pipeline.tuning import trials as room
from sidrec.pipeline.tuning.search import Search
from sidrec.pipeline.tuning.trials import JOURNAL, Trials

SEARCH = Search(
    "sasrec-ce",
    {"d_model": 8},
    {"d_model": OneOf((4, 8)), "dropout": Between(0.1, 0.6), "n_layers": Between(1, 3)},
    "data",
)


def done(trial, value):
    return replace(trial, state="done", value=value, epochs=2, seconds=1.0)


def test_the_first_trial_is_the_recipe_and_then_others_up_to_the_total(tmp_path):
    trials = Trials(tmp_path, SEARCH)
    for number in range(3):
        with trials.take(3) as trial:
            assert trial.number == number and trial.state == "running"
            assert number or trial.chosen == {"d_model": 8, "dropout": 0.3, "n_layers": 2}
            trials.end(done(trial, number / 10))
    with trials.take(3) as nothing:
        assert nothing is None
    again = Trials(tmp_path, SEARCH).all()
    assert [trial.value for trial in again] == [0.0, 0.1, 0.2]
    assert again[2].epochs == 2 and again[2].chosen != again[1].chosen


def test_a_trial_that_was_left_is_taken_up_under_its_number(tmp_path):
    first = Trials(tmp_path, SEARCH)
    with first.take(2) as trial:
        first.report(trial.number, 1, 0.25)
    second = Trials(tmp_path, SEARCH)
    with second.take(2) as again:
        assert (again.number, again.chosen) == (trial.number, trial.chosen)
        assert not second.report(again.number, 1, 0.25)  # told a second time
        second.end(replace(again, state="failed", message="no"))
    assert [(one.state, one.message) for one in second.all()] == [("failed", "no")]


def test_two_tuners_never_have_the_same_trial(tmp_path):
    taken, other = [], []

    def elsewhere() -> None:
        theirs = Trials(tmp_path, SEARCH)
        with theirs.take(2) as trial:
            other.append(trial.number)
        with theirs.take(1) as trial:  # theirs was given back; ours is held
            other.append(trial.number)

    ours = Trials(tmp_path, SEARCH)
    with ours.take(2) as trial:
        taken.append(trial.number)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert (taken, other) == ([0], [1, 1])


def test_after_a_kill_other_settings_are_drawn_than_before(tmp_path):
    drawn = []
    for _ in range(4):
        trials = Trials(tmp_path, SEARCH)
        with trials.take(9) as trial:
            drawn.append(trial.chosen["dropout"])
            trials.end(done(trial, 0.1))
    assert len(set(drawn)) == 4


def test_whoever_falls_behind_the_median_is_told(tmp_path):
    trials = Trials(tmp_path, SEARCH)
    for _ in range(room.N_STARTUP):
        with trials.take(9) as trial:
            assert not trials.report(trial.number, 1, 0.5)
            trials.end(done(trial, 0.5))
    with trials.take(9) as trial:
        assert trials.report(trial.number, 1, 0.1)
        trials.end(replace(trial, state="pruned"))
    assert trials.all()[-1].state == "pruned" and trials.all()[-1].value is None


def test_importances_need_different_results(tmp_path):
    trials = Trials(tmp_path, SEARCH)
    for value in (0.1, 0.1, 0.3, 0.4, 0.5, 0.2):
        assert trials.importances() == {} or value > 0.3 or value == 0.2
        with trials.take(9) as trial:
            trials.end(done(trial, value))
    assert set(trials.importances()) == set(SEARCH.space)


def test_half_a_line_at_the_end_is_forgotten(tmp_path):
    trials = Trials(tmp_path, SEARCH)
    with trials.take(9) as trial:
        trials.end(done(trial, 0.5))
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(b'{"op_code": 4, "wor')
    again = Trials(tmp_path, SEARCH)
    with again.take(9) as trial:
        again.end(done(trial, 0.4))
    assert [one.value for one in Trials(tmp_path, SEARCH).all()] == [0.5, 0.4]


def test_without_optuna_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(room, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"pip install 'sidrec\[tune\]'"):
        room.import_optuna()

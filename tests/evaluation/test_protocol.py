from __future__ import annotations

import pytest

from sidrec.core.errors import SettingsError
from sidrec.evaluation.protocol import EvaluationSettings, select_cases


def test_places_are_sorted_and_the_deepest_sets_the_depth():
    settings = EvaluationSettings(ks=(10, 1, 20, 10))
    assert settings.ks == (1, 10, 20)
    assert settings.depth == 20


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"ks": ()}, "ks: tuple should have at least 1 item"),
        ({"ks": (0,)}, "ks.0: should be greater than or equal to 1"),
        ({"split": "train"}, "split: should be 'validation' or 'test'"),
        ({"users": 0}, "users: should be greater"),
        ({"exclude_sen": True}, "did you mean exclude_seen"),
    ],
)
def test_wrong_settings_in_words(values, words):
    with pytest.raises(SettingsError, match=words):
        EvaluationSettings.parse(values, owner="evaluate")


def test_a_sample_is_seeded_in_user_order_and_asks_the_same_questions(shop):
    every = select_cases(shop, EvaluationSettings())
    assert len(every) == 90
    some = select_cases(shop, EvaluationSettings(users=20, seed=3))
    assert len(set(some.users.tolist())) == 20
    assert (some.users[1:] > some.users[:-1]).all()
    assert some.targets.tolist() == every.targets[some.users].tolist()
    again = select_cases(shop, EvaluationSettings(users=20, seed=3))
    assert again.users.tolist() == some.users.tolist()
    assert select_cases(shop, EvaluationSettings(users=20, seed=4)).users.tolist() != some.users.tolist()
    assert len(select_cases(shop, EvaluationSettings(users=1000))) == 90

from __future__ import annotations

import pytest

from sidrec.core.errors import SettingsError
from sidrec.decoding.plan import SearchPlan


@pytest.mark.parametrize(
    ("n_codes", "n_steps", "expected"),
    [(4, 4, (1, 1, 1, 1)), (4, 3, (1, 1, 2)), (4, 2, (2, 2)), (5, 2, (2, 3)), (4, 1, (4,))],
)
def test_the_last_step_takes_what_is_left(n_codes, n_steps, expected):
    assert SearchPlan(n_codes=n_codes, n_steps=n_steps).slots_per_step == expected


def test_all_problems_are_told_at_once():
    with pytest.raises(SettingsError) as caught:
        SearchPlan(n_codes=4, n_steps=5, order="upwards", k=60)  # type: ignore[arg-type]
    for words in ("n_steps is 5, choose 1 to 4", "order is 'upwards'", "fewer beams than the 60 results"):
        assert words in str(caught.value)


def test_narrowing_must_name_every_step():
    with pytest.raises(SettingsError, match="2 beam sizes for 4 steps"):
        SearchPlan(n_codes=4, narrowing=(50, 20))

from __future__ import annotations

import numpy as np
import pytest
import torch

from reference.masked_search import of_asked_slots
from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import search
from sidrec.decoding.drawing import Choice, Drawing, Slot, StepStory, draw, percent, tell
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.search_space import ItemSearchSpace

TITLES = ["red lamp", "blue lamp", "green chair", "yellow chair"]
SPACE = ItemSearchSpace(np.array([[0, 0], [0, 1], [1, 1], [1, 0]], dtype=np.int32), (2, 2))


@of_asked_slots
def predict(codes: torch.Tensor) -> torch.Tensor:
    """Slot 1 is surer at first; then slot 2 says 3 : 1 for code 1."""
    first = torch.tensor([[0.8, 0.2], [0.5, 0.5]]).log()
    then = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    return torch.where((codes < 0).all(-1)[..., None, None], first, then)


def stories(seen: list[int], n_beams: int = 3, ask=predict, **plan: object):
    constraint = SPACE.constraint(Histories.from_lists([seen]), exclude_seen=True)
    settings = {"n_steps": 2, "beam_size": 3, "k": 3} | plan
    result = search(ask, 1, SearchPlan(n_codes=2, **settings), constraint, trace=True)
    assert result.trace is not None
    return tell(result.trace, TITLES, constraint, n_beams=n_beams)


def test_a_drawing_can_be_read():
    drawing = Drawing(n_beams=2, n_titles=1, title_width=8, bar_width=20, bar="#.", parts="")
    assert draw(stories(seen=[2]), drawing) == [
        "Step 1 of 2: slot 1 is surest (80.0 %), so it gets its code now.",
        "    slot 1  ################....  80.0 %  <- filled now",
        "    slot 2  ##########..........  50.0 %",
        "  2 candidates kept, likeliest first:",
        "    1. [  0   ?]   80.0 %  2 items fit, such as",
        "         - red lamp",
        "    2. [  1   ?]   20.0 %  1 item fits: yello...",
        "",
        "Step 2 of 2: only slot 2 is left (75.0 % sure).",
        "  The best of 2 candidates, [  0   ?]:",
        "    slot 1  code 0",
        "    slot 2  ###############.....  75.0 %  <- filled now",
        "  3 candidates complete, likeliest first:",
        "    1. [  0   1]   60.0 %  1 item fits: blue...",
        "    2. [  0   0]   20.0 %  1 item fits: red lamp",
        "    and 1 more",
    ]


@pytest.mark.parametrize(
    ("plan", "headline"),
    [
        ({"n_steps": 1}, "Step 1 of 1: slots 1 and 2 at once (80.0 % and 50.0 % sure)."),
        ({"order": "right-to-left"}, "Step 1 of 2: slot 2 is next in the fixed order (50.0 % sure)."),
    ],
)
def test_the_headline_says_why(plan, headline):
    assert draw(stories([], **plan))[0] == headline


def test_candidates_that_choose_differently_are_counted():
    @of_asked_slots
    def two_minds(codes: torch.Tensor) -> torch.Tensor:
        """Three slots; a candidate with code 0 in slot 1 is surer of slot 2, one with code 1 of slot 3."""
        flat = torch.tensor([0.5, 0.5]).log().expand(*codes.shape, 2).clone()
        flat[..., 0, :] = torch.tensor([0.6, 0.4]).log()
        sure = torch.tensor([0.9, 0.1]).log()
        flat[..., 1, :] = torch.where((codes[..., 0] == 0)[..., None], sure, flat[..., 1, :])
        flat[..., 2, :] = torch.where((codes[..., 0] == 1)[..., None], sure, flat[..., 2, :])
        return flat

    every = ItemSearchSpace(np.array(list(np.ndindex(2, 2, 2)), dtype=np.int32), (2, 2, 2))
    constraint = every.constraint(Histories.from_lists([[]]))
    result = search(two_minds, 1, SearchPlan(n_codes=3, n_steps=3, beam_size=4, k=4), constraint, trace=True)
    second = tell(result.trace, [str(n) for n in range(8)], constraint)[1]
    assert second.choices == [Choice([2], 1), Choice([3], 1)]
    assert "  Every candidate fills its own surest slot: 1 fill slot 2 and 1 fill slot 3." in draw([second])
    assert second.as_dict()["choices"] == [{"slots": [2], "candidates": 1}, {"slots": [3], "candidates": 1}]


def test_the_values_behind_the_drawing():
    first, second = stories(seen=[2], n_beams=1)
    assert [(slot.number, slot.code, slot.filled_now) for slot in second.slots] == [(1, 0, False), (2, None, True)]
    assert second.slots[0].confidence is None and second.slots[1].confidence == pytest.approx(0.75)
    assert (first.n_before, first.n_after, len(first.best)) == (1, 2, 1)
    assert first.best[0].codes == [0, None] and first.best[0].titles == ["red lamp", "blue lamp"]
    assert first.best[0].probability == pytest.approx(0.8)


def test_likely_codes_parents_and_what_was_given_up():
    first, second = stories(seen=[2], beam_size=2, k=2)
    told = [[(chance.code, round(chance.probability, 3)) for chance in slot.likely] for slot in first.slots]
    assert told == [[(0, 0.8), (1, 0.2)], [(0, 0.5), (1, 0.5)]]
    assert second.slots[0].likely == [], "a filled slot is not asked"
    assert (first.children, first.n_fitting) == ([2], 3), "item 2 is seen"
    assert [candidate.parent for candidate in second.best] == [1, 1]
    assert (second.children, second.n_fitting) == ([2, 0], 2), "the second candidate was given up"


@pytest.mark.parametrize(
    ("share", "bar"), [(0.0, "░░░░"), (0.03, "▏░░░"), (0.25, "█░░░"), (0.40, "█▋░░"), (0.999, "████"), (1.0, "████")]
)
def test_bars_show_small_shares_too(share, bar):
    slot = Slot(1, None, share, filled_now=False)
    story = StepStory(1, 2, [slot, Slot(2, None, 0.0, filled_now=True)], 1, [Choice([2], 1)], 0, [])
    assert draw([story], Drawing(bar_width=4))[1].startswith(f"    slot 1  {bar} ")


def test_percentages_keep_small_ones_visible():
    assert [percent(share) for share in (1.0, 0.71, 0.00123, 0.00002)] == ["100.0 %", "71.0 %", "0.1 %", "0.002 %"]

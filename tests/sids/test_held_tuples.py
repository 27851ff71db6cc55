from __future__ import annotations

import numpy as np

from sidrec.sids.held_tuples import Held


def held(*rows: tuple[int, int, float]) -> Held:
    """Rows of key, mover and increase; the codes are the key."""
    keys, movers, increase = zip(*rows, strict=True)
    codes = np.array(keys, np.int32)[:, None]
    return Held(np.array(keys, np.uint64), np.array(movers, np.int64), np.array(increase, np.float64), codes)


def shown(found: Held) -> list[tuple[int, int, float]]:
    assert found.codes[:, 0].tolist() == found.keys.tolist()
    return list(zip(found.keys.tolist(), found.movers.tolist(), found.increase.tolist(), strict=True))


def test_the_cheapest_proposal_for_a_tuple_wins_and_the_lower_mover_on_a_tie() -> None:
    best, losers = held((5, 2, 1.0), (3, 7, 4.0), (5, 1, 1.0), (3, 8, 2.0)).best_per_key()
    assert shown(best) == [(3, 8, 2.0), (5, 1, 1.0)]
    assert sorted(losers.tolist()) == [2, 7]


def test_a_holder_stays_unless_somebody_pays_less() -> None:
    now, losers = held((3, 8, 2.0), (5, 1, 1.0)).challenged(held((3, 4, 1.5), (5, 6, 1.0), (4, 9, 7.0)))
    assert shown(now) == [(3, 4, 1.5), (4, 9, 7.0), (5, 1, 1.0)]
    assert sorted(losers.tolist()) == [6, 8]


def test_the_first_proposals_meet_nobody() -> None:
    now, losers = Held.nothing(1).challenged(held((2, 0, 1.0)))
    assert shown(now) == [(2, 0, 1.0)] and len(losers) == 0

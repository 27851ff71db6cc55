from __future__ import annotations

import pytest

from sidrec.training.watching import tell, watched


def test_only_the_named_training_is_shown_and_only_inside():
    seen: list[float] = []
    with watched("sasrec", lambda entry: seen.append(entry["epoch"])):
        tell("sasrec", {"epoch": 1})
        tell("rq-vae", {"epoch": 2})
    tell("sasrec", {"epoch": 3})
    assert seen == [1]


def test_whoever_watches_may_end_it():
    def look(entry):
        raise InterruptedError

    with pytest.raises(InterruptedError), watched("sasrec", look):
        tell("sasrec", {"epoch": 1})

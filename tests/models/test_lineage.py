"""What tells one model from another."""

from __future__ import annotations

from sidrec.models.popularity import Popularity
from sidrec.models.sasrec import SASRec


def test_method_data_and_seed_are_the_model_and_the_run_is_not() -> None:
    same = SASRec(d_model=16, training={"device": "cpu", "minutes": 5.0}).origin("data")
    assert SASRec(d_model=16).origin("data").fingerprint == same.fingerprint
    for other in (
        SASRec(d_model=32).origin("data"),
        SASRec(d_model=16).origin("other data"),
        SASRec(d_model=16, training={"seed": 1}).origin("data"),
        Popularity().origin("data"),
    ):
        assert other.fingerprint != same.fingerprint


def test_unfinished_work_of_the_same_line_lies_side_by_side(tmp_path) -> None:
    def place(**training: object) -> str:
        return SASRec(training=training).training_directory(tmp_path / "m", "data").name

    kind, line, exact = place().rsplit("-", 2)
    longer, faster = place(epochs=77).rsplit("-", 2), place(learning_rate=0.5).rsplit("-", 2)
    assert longer[:2] == [kind, line] and longer[2] != exact
    assert faster[0] == kind and faster[1] != line

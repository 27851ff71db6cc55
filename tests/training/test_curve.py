from __future__ import annotations

import pytest

from sidrec.training.curve import draw_curve

HISTORY = [
    {"epoch": 1, "loss": 3.0, "loss/history": 2.0, "learning_rate": 0.1},
    {"epoch": 2, "loss": 2.0, "loss/history": 1.5, "learning_rate": 0.1, "validation/ndcg@10": 0.1},
]


@pytest.mark.slow
def test_the_picture_names_losses_and_validation_and_is_reproducible(tmp_path):
    draw_curve(tmp_path / "a.svg", HISTORY, title="llada-rec", best_epoch=2)
    draw_curve(tmp_path / "b.svg", HISTORY, title="llada-rec", best_epoch=2)
    picture = (tmp_path / "a.svg").read_text()
    assert picture == (tmp_path / "b.svg").read_text()
    for words in ("llada-rec", "loss/history", "validation/ndcg@10"):
        assert f"<!-- {words} -->" in picture
    assert "learning_rate" not in picture


def test_one_epoch_without_validation_is_a_picture_too(tmp_path):
    draw_curve(tmp_path / "a.svg", HISTORY[:1], title="short")
    assert "validation" not in (tmp_path / "a.svg").read_text()

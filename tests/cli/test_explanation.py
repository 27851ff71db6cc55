from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import torch

from sidrec.cli import explanation
from sidrec.data.catalog import Catalog
from sidrec.data.histories import Histories
from sidrec.decoding.diffusion import search
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.search_space import ItemSearchSpace
from sidrec.models.id_search import Generation, SearchSettings
from sidrec.models.ranking import Ranking

CATALOG = Catalog(pl.DataFrame({"item_id": list("abcdefgh"), "title": [f"[bold]lamp {n}" for n in range(8)]}))


def generation() -> Generation:
    """Three slots of two codes, every ID an item; code 0 is always twice as likely."""
    constraint = ItemSearchSpace(np.array(list(np.ndindex(2, 2, 2)), dtype=np.int32), (2, 2, 2)).constraint(
        Histories.from_lists([[]])
    )
    result = search(
        lambda codes, slots: torch.tensor([2 / 3, 1 / 3]).log().expand(*slots.shape, 2),
        1,
        SearchPlan(n_codes=3, n_steps=3, beam_size=8, k=2),
        constraint,
        trace=True,
    )
    assert result.trace is not None
    return Generation(Ranking(np.array([[0, 4]]), np.zeros((1, 2), np.float32)), result.trace, constraint)


def test_titles_are_shown_as_they_are(capsys):
    explanation.show(generation(), ["b", "nowhere", "c"], CATALOG, SearchSettings())
    out = capsys.readouterr().out
    assert out.startswith("What the user had, newest last:\n  - [bold]lamp 1\n  - [bold]lamp 2\n\n")
    assert "Every item has an ID of 3 codes." in out
    assert "Step 1 of 3: slot 1 is surest (66.7 %), so it gets its code now." in out
    assert "1. [  0   ?   ?]   66.7 %  4 items fit, such as\n         - [bold]lamp 0\n" in out


def test_a_long_history_shows_its_newest(capsys):
    explanation.show(generation(), list("abcdefgh"), CATALOG, SearchSettings())
    out = capsys.readouterr().out
    assert "  (3 older ones)\n  - [bold]lamp 3\n" in out and "  - [bold]lamp 2\n  -" not in out


def test_the_rules_are_those_of_the_search(capsys):
    explanation.show(generation(), ["a"], CATALOG, SearchSettings())
    out = capsys.readouterr().out
    assert "slot by slot, the surest slot first;\ncodes that lead to no item are never taken." in out
    explanation.show(generation(), ["a"], CATALOG, SearchSettings(order="right-to-left", only_real_items=False))
    out = capsys.readouterr().out
    assert "slot by slot, right to left;\ncodes that lead to no item may be taken, too" in out


def test_a_terminal_without_blocks_gets_plain_bars(capsys, monkeypatch):
    monkeypatch.setattr(explanation, "sys", SimpleNamespace(stdout=SimpleNamespace(encoding="ascii")))
    explanation.show(generation(), ["a"], CATALOG, SearchSettings())
    assert "slot 1  ################........  66.7 %" in capsys.readouterr().out

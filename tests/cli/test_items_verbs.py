"""`sidrec items ...`: what it prints, and what it says of mistakes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sidrec.cli.app import main
from sidrec.data.synthetic import clusters
from sidrec.models.popularity import Popularity
from sidrec.models.registry import load_model


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """A saved model in an empty folder, and the command line there."""
    monkeypatch.chdir(tmp_path)
    Popularity().fit(clusters(n_clusters=3, cluster_size=5, n_users=20, length=5), out=Path("m"))

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sidrec", "items", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def test_one_json_object(run) -> None:
    Path("gone.csv").write_text("sku\nthing-1\n", encoding="utf-8")
    code, out, _ = run("remove", "m", "--items", "gone.csv", "--columns", "item_id=sku", "--json")
    assert code == 0 and out.count("\n") == 1
    assert json.loads(out) == {
        "change": "remove",
        "model": "m",
        "out": "m",
        "item_ids": ["thing-1"],
        "items": 1,
        "catalog": 15,
        "removed": 1,
    }


def test_it_says_what_happened_and_what_comes_next(run) -> None:
    Path("titles.csv").write_text('item_id,title\nthing-1,"a, b"\n', encoding="utf-8")
    code, out, _ = run("update", "m", "--items", "titles.csv", "--out", "m2")
    assert code == 0
    assert "1 items changed; the catalogue has 15, 0 of them never recommended" in out
    assert "wrote m2\nnext: sidrec recommend m2 --history thing-1\n" in out
    assert load_model(Path("m2")).catalog.titles[1] == "a, b"
    Path("none.csv").write_text("item_id\n", encoding="utf-8")
    assert run("restore", "m", "--items", "none.csv")[1].endswith("none.csv: names no items\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "m", "--items", "x.csv"), "popularity cannot recommend items that it was not trained with"),
        (("remove", "m", "--items", "x.csv"), "item 'x' is not in the catalogue; nothing was removed"),
        (("remove", "m", "--items", "y.csv"), "y.csv: no column item_id; it has: artikel. Say which"),
        (("remove", "m", "--items", "y.csv"), "for example item_id=sku,title=name (--columns).\n"),
        (("update", "nowhere", "--items", "x.csv"), "nowhere"),
        (("remove", "m", "--items", "m"), "cannot tell its format from its name"),
    ],
)
def test_mistakes_are_one_sentence(run, words: tuple[str, ...], message: str) -> None:
    Path("x.csv").write_text("item_id\nx\n", encoding="utf-8")
    Path("y.csv").write_text("artikel\nx\n", encoding="utf-8")
    code, out, err = run(*words)
    assert code == 2 and out == "" and message in err and err.startswith("sidrec: ")

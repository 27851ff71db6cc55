"""Every command that a verb prints as the next one is run as it stands, in a folder with a space in its name."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from reference.tiny_recipe import TINY
from sidrec.cli.app import main

PLAN = """
title = "t"
scale = "tiny"
[datasets]
shop = "data"
[[section]]
name = "s"
title = "s"
models = ["popularity"]
"""
SHOP = ["--interactions", "x.csv", "--items", "items.csv"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "my shop"
    folder.mkdir()
    rows = [(f"u{u}", f"i{(u * 7 + t * (1 + u % 3)) % 24}", t) for u in range(50) for t in range(5)]
    pl.DataFrame(rows, schema=["user_id", "item_id", "timestamp"], orient="row").write_csv(folder / "x.csv")
    titles = [f"{kind} number {n}" for n in range(8) for kind in ("lamp", "cup", "knife")]
    pl.DataFrame({"item_id": [f"i{n}" for n in range(24)], "title": titles}).write_csv(folder / "items.csv")
    (folder / "tiny.toml").write_text(TINY)
    monkeypatch.chdir(folder)
    return folder


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Run one command; the commands it names come back."""
    if words[0] == "python":
        subprocess.run([sys.executable, *words[1:]], check=True, capture_output=True)
        return []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        try:
            code = main()
        except SystemExit as ended:
            code = ended.code
    shown = capsys.readouterr()
    assert code in (0, None), f"{shlex.join(words)} failed: {shown.err}"
    return [line.removeprefix("next: ") for line in shown.out.splitlines() if line.startswith("next: ")]


def follow(first: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The verbs that were run, each as the one before it said."""
    asked, done = [["sidrec", *first]], []
    while asked:
        words = asked.pop(0)
        done.append(shlex.join(words))
        asked += [shlex.split(line) for line in run(words, capsys) if line not in done]
    return [words.split()[1] for words in done if words.startswith("sidrec")]


@pytest.mark.slow
def test_from_a_file_to_an_evaluation(shop, capsys) -> None:
    ran = follow(["data", "prepare", *SHOP, "--out", "my data"], capsys)
    assert ran == ["data", "embed", "tokenize", "train", "evaluate"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "ends"),
    [
        (["recommend", "model", "--history", "i1,i2", "-k", "3"], ["recommend", "recommend"]),
        (["recommend", "model", "--input", "users.parquet", "--output", "recs.parquet"], ["recommend"]),
        (["export", "model"], ["export", "recommend", "recommend"]),
        (["data", "describe", "data"], None),
        (["models"], ["models", "models"]),
        (["benchmark", "plan.toml", "--out", "runs"], ["benchmark", "report"]),
    ],
    ids=lambda part: part[0] if part else "",
)
def test_other_verbs(shop, capsys, verb, ends) -> None:
    for words in (
        ["data", "prepare", *SHOP, "--out", "data"],
        ["train", "--data", "data", "--recipe", "tiny.toml", "--out", "model"],
    ):
        run(["sidrec", *words], capsys)
    pl.DataFrame({"user_id": ["a"], "history": [["i1", "i2"]]}).write_parquet("users.parquet")
    Path("plan.toml").write_text(PLAN)
    if ends is None:
        assert run(["sidrec", *verb], capsys) == ["sidrec embed data --out data-embeddings"]
    else:
        assert follow(verb, capsys) == ends

"""Every verb on a shop whose titles, ids and directory names look like something else."""

from __future__ import annotations

import json
import sys

import pytest

from reference.hostile_words import FOLDER, IDS, TITLES, steering
from reference.html_check import PageReader
from sidrec.cli.app import main

TINY = ["d_model=8", "n_heads=2", "n_layers=1", "search.beam_size=8", "training.epochs=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words") / FOLDER
    folder.mkdir()
    lines = [
        json.dumps({"item_id": item_id, "title": title, "category": title})
        for item_id, title in zip(IDS, TITLES, strict=True)
    ]
    (folder / "items.jsonl").write_text("\n".join(lines))
    events = [
        json.dumps({"user_id": f"u\x1b{user}", "item_id": IDS[(user + step) % len(IDS)], "timestamp": step})
        for user in range(24)
        for step in range(5)
    ]
    (folder / "events.jsonl").write_text("\n".join(events))
    return folder


@pytest.fixture
def run(monkeypatch, capsys, folder):
    def call(*words: str) -> str:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        shown = capsys.readouterr()
        assert not stop.value.code, shown.err
        assert not steering(shown.out + shown.err)
        return shown.out

    return call


@pytest.mark.slow
def test_prepare_train_and_recommend_print_words_as_words(run, folder):
    data, model = str(folder / "[data]"), str(folder / "[model]")
    files = ("--interactions", str(folder / "events.jsonl"), "--items", str(folder / "items.jsonl"))
    assert "[red]place[bold]" in run("data", "prepare", *files, "--out", data)
    assert "[data]" in run("data", "describe", data)
    run("train", "--data", data, "--model", "popularity", "--out", model)
    out = run("recommend", model, "--history", "plain-0", "-k", "12")
    assert "Lamp [upgraded version]" in out and "[/red]" in out and "\\x1b[1mbold" in out
    found = json.loads(run("recommend", model, "--history", '"a,b",[/red]', "-k", "12", "--json"))
    assert sorted(item["title"] for item in found["items"]) == sorted(TITLES)
    assert sorted(item["item_id"] for item in found["items"]) == sorted(IDS)
    out = run("recommend", model, "--history", "[/red]", "--allow", "category=Lamp [upgraded version]")
    assert "Lamp [upgraded version]" in out


def test_mistakes_are_told_without_codes(monkeypatch, capsys, folder):
    for words in (
        ("recommend", "no\x1b[31m/[/red]", "--history", "a"),
        ("data", "prepare", "no\x1b[2J[/red]", "--out", "x"),
        ("data", "describe", "\u202ethere"),
    ):
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        shown = capsys.readouterr()
        assert stop.value.code == 2 and shown.err.startswith("sidrec: ")
        assert not steering(shown.out + shown.err)


@pytest.mark.slow
def test_the_long_way_prints_words_as_words(run, folder):
    at = {name: str(folder / f"long [{name}]") for name in ("data", "emb", "ids", "model", "pop", "eval", "eval2")}
    files = ("--interactions", str(folder / "events.jsonl"), "--items", str(folder / "items.jsonl"))
    run("data", "prepare", *files, "--out", at["data"])
    run("embed", at["data"], "--encoder", "tfidf", "--out", at["emb"])
    options = ("--tokenizer", "rq-kmeans", "--set", "n_codes=2", "--set", "codebook_size=6", "--set", "pca=4")
    assert "[ids]" in run("tokenize", at["emb"], "--data", at["data"], *options, "--out", at["ids"])
    page = PageReader((folder / "long [ids]" / "report.html").read_text(encoding="utf-8"))
    assert "script" not in page.tags and "Lamp [upgraded version]" in page.text
    settings = [word for setting in TINY for word in ("--set", setting)]
    run("train", "--data", at["data"], "--sids", at["ids"], "--model", "llada-rec", "--out", at["model"], *settings)
    run("train", "--data", at["data"], "--model", "popularity", "--out", at["pop"])
    out = run("recommend", at["model"], "--history", '[/red],"a,b"', "--explain", "-k", "3")
    assert "What the user had, newest last:" in out and "  - Lamp [upgraded version]\n" in out
    run("recommend", at["model"], "--history", "[/red]", "--explain", "--json")
    run("evaluate", at["model"], "--out", at["eval"])
    run("evaluate", at["pop"], "--out", at["eval2"])
    assert "better means" in run("compare", at["eval"], at["eval2"])

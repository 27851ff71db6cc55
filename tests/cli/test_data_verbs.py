"""`sidrec data`: what is printed, and that the options arrive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from disturb.mutations import reseal
from sidrec.cli.app import app
from sidrec.core.errors import ArtifactError, SettingsError, StorageError
from sidrec.data.schema import STATISTICS_FILE

ROWS = "who,item_id,timestamp\nu,a,1\nu,b,2\nu,a,3\nu,c,4\nv,a,1\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "interactions.csv").write_text(ROWS, encoding="utf-8")
    return tmp_path / "interactions.csv"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["data", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_prepare_and_describe(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = run("prepare", "--interactions", table, "--columns", "user_id=who", "--out", out)
    assert "left out, short users: 1" in shown
    assert shown.splitlines()[-2:] == [f"wrote {out}", f"next: sidrec embed {out} --out {out}-embeddings"]
    figures = json.loads(run("describe", out, "--json"))
    assert (figures["users"], figures["items"], figures["interactions"]) == (1, 3, 4)
    assert figures["average_length"] == 4 and figures["sparsity"] == pytest.approx(1 - 4 / 3)
    assert "average length" in run("describe", out)


def test_options_arrive(table: Path, tmp_path: Path) -> None:
    options = ("--columns", "user_id=who", "--duplicates", "last", "--short-users", "train", "--json")
    done = json.loads(run("prepare", table, "--out", tmp_path / "out", *options))
    assert (done["users"], done["interactions"], done["left_out"]["duplicates"]) == (2, 4, 1)
    again = json.loads(run("prepare", table, "--out", tmp_path / "out", *options))
    assert again["skipped"] is True and again["users"] == 2


def test_time_split_settings_arrive(table: Path, tmp_path: Path) -> None:
    cuts = ("--split", "global-time", "--set", "validation_from=3", "--set", "test_from=4")
    run("prepare", table, "--columns", "user_id=who", "--out", tmp_path / "out", *cuts)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["settings"]["split"], manifest["settings"]["test_from"]) == ("global-time", 4)


def test_settings_are_refused_in_words(table: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"split: .*leave-one-out"):
        run("prepare", table, "--out", tmp_path / "out", "--split", "random")
    with pytest.raises(SettingsError, match="write it as FILE=HEX"):
        run("download", "amazon-2023/Books", "--out", tmp_path, "--sha256", "abc")


def test_figures_that_are_not_there_are_one_sentence(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("prepare", "--interactions", table, "--out", out, "--columns", "user_id=who")
    figures = json.loads((out / STATISTICS_FILE).read_text())
    del figures["text_fields"]
    (out / STATISTICS_FILE).write_text(json.dumps(figures))
    reseal(out, out / STATISTICS_FILE)
    with pytest.raises(ArtifactError, match=r"statistics\.json.*text_fields"):
        run("describe", out)


def test_next_weeks_data_come_from_the_service(tmp_path: Path) -> None:
    from sidrec.serving.user_store import DatabaseStore, Interaction

    url = f"sqlite:///{tmp_path}/users.db"
    store = DatabaseStore(url)
    store.append([Interaction(f"{user}{item}", user, item, 10 * ord(item)) for user in "uv" for item in "abc"])
    (tmp_path / "items.csv").write_text("item_id,title\na,A\nb,B\nc,C\n", encoding="utf-8")
    words = ("prepare", "--store", url, "--items", tmp_path / "items.csv", "--out", tmp_path / "data", "--json")
    assert json.loads(run(*words))["interactions"] == 6
    assert json.loads(run(*words))["skipped"] is True
    store.append([Interaction("w", "u", "a", 99_999)])
    store.close()
    with pytest.raises(StorageError, match="made from other data"):
        run(*words)
    assert json.loads(run(*words, "--replace"))["interactions"] == 7
    with pytest.raises(SettingsError, match="--store comes instead of SOURCE"):
        run("prepare", tmp_path, "--store", url, "--out", tmp_path / "x")

"""`sidrec train --from`: last week's weights, this week's data; twice is once, and a kill costs nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from safetensors.numpy import load_file

from reference.tiny_recipe import TINY
from sidrec.cli.app import main
from sidrec.data.synthetic import clusters
from sidrec.models.registry import load_model


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two weeks of a shop and the first week's model."""
    folder = tmp_path_factory.mktemp("weeks")
    clusters(n_clusters=4, cluster_size=8, n_users=60, length=6).save(folder / "one")
    clusters(n_clusters=5, cluster_size=8, n_users=70, length=7).save(folder / "two")
    (folder / "tiny.toml").write_text(TINY)
    words = ["train", "--data", str(folder / "one"), "--recipe", str(folder / "tiny.toml"), "--out", str(folder / "m1")]
    subprocess.run([*SIDREC, *words], check=True, capture_output=True)
    return folder


SIDREC = [sys.executable, "-c", "from sidrec.cli.app import main; main()"]


def words(weeks: Path, out: Path, *more: str) -> list[str]:
    given = ["--from", str(weeks / "m1"), "--data", str(weeks / "two"), "--out", str(out)]
    return ["train", *given, "--set", "training.epochs=2", *more]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr(sys, "argv", ["sidrec", *arguments])
        main()
    return int(stop.value.code or 0), *capsys.readouterr()


@pytest.mark.slow
def test_trains_on_and_skips_the_second_time(weeks, tmp_path, capsys) -> None:
    code, out, err = run(capsys, *words(weeks, tmp_path / "m2", "--json"))
    first = json.loads(out)
    assert code == 0 and first["epochs"] == 2 and first["from"] == str(weeks / "m1") and not first["skipped"]
    assert "32 items are known, 8 are new, 0 are no longer there" in err
    old, new = (load_model(path).semantic_ids for path in (weeks / "m1", tmp_path / "m2"))
    assert new.codes[:32].tolist() == old.codes.tolist() and new.n_items == 40
    assert json.loads(run(capsys, *words(weeks, tmp_path / "m2", "--json"))[1])["skipped"]
    longer = run(capsys, *words(weeks, tmp_path / "m2", "--json", "--set", "training.epochs=3"))
    assert json.loads(longer[1])["epochs"] == 3 and "going on from epoch 2 of 2, now 3" in longer[2]


@pytest.mark.slow
def test_in_place_every_week(weeks, tmp_path, capsys) -> None:
    load_model(weeks / "m1").save(tmp_path / "m")
    given = ["train", "--from", str(tmp_path / "m"), "--data", str(weeks / "two"), "--out", str(tmp_path / "m")]
    code, _, err = run(capsys, *given)
    assert code == 2 and "holds another model" in err and "--replace" in err
    assert run(capsys, *given, "--replace")[0] == 0
    _, out, err = run(capsys, *given, "--replace", "--json")
    assert json.loads(out)["skipped"] and "was trained on this data already" in err


@pytest.mark.slow
def test_other_settings_have_no_place_beside_it(weeks, tmp_path, capsys) -> None:
    for more in (["--model", "sasrec"], ["--recipe", "demo/sasrec"]):
        code, _, err = run(capsys, *words(weeks, tmp_path / "m", *more))
        assert code == 2 and "says which model it is, with which settings" in err and err.count("\n") == 1
    code, _, err = run(capsys, *words(weeks, tmp_path / "m", "--set", "d_model=16"))
    assert code == 2 and "these settings make another network" in err and err.strip().count("\n") <= 1


@pytest.mark.slow
def test_a_kill_costs_nothing(weeks, tmp_path) -> None:
    """Killed as soon as there is a checkpoint, the same command ends with the weights of the run that was not."""
    more = ["--set", "training.epochs=24", "--set", "training.checkpoint_seconds=0"]
    killed = subprocess.Popen(
        [*SIDREC, *words(weeks, tmp_path / "killed", *more)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while killed.poll() is None and not list(tmp_path.glob(".killed.work-*/checkpoint/manifest.json")):
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "killed").exists()
    for name in ("killed", "whole"):
        done = subprocess.run([*SIDREC, *words(weeks, tmp_path / name, *more)], capture_output=True, text=True)
        assert done.returncode == 0 and ("resumed at" in done.stderr) == (name == "killed")
    one, other = (load_file(tmp_path / name / "weights.safetensors") for name in ("killed", "whole"))
    assert all((one[name] == other[name]).all() for name in one)


@pytest.mark.slow
def test_another_price_in_between_trains_nothing_again(weeks, tmp_path, capsys) -> None:
    shutil.copytree(weeks / "m1", tmp_path / "m1")
    asked = [*words(weeks, tmp_path / "m2"), "--json"]
    asked[asked.index("--from") + 1] = str(tmp_path / "m1")
    assert run(capsys, *asked)[0] == 0
    title = load_model(tmp_path / "m1").catalog.frame[:1].select("item_id", title=pl.lit("Other words"))
    title.write_csv(tmp_path / "new.csv")
    for model in ("m1", "m2"):
        assert run(capsys, "items", "update", str(tmp_path / model), "--items", str(tmp_path / "new.csv"))[0] == 0
        code, said, _ = run(capsys, *asked)
        assert code == 0 and json.loads(said)["skipped"]
    assert load_model(tmp_path / "m2").catalog.titles[0] == "Other words"

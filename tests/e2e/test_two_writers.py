"""The same command twice at once: one does it, the other finds it done, waits, or ends with a sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from reference.tiny_recipe import TINY
from sidrec.core.artifacts import open_artifact
from sidrec.data.synthetic import demo_shop

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("home")
    shop = demo_shop(n_items=300, n_users=400, seed=1)
    shop.save(home / "data")
    (home / "tiny.toml").write_text(TINY)
    (home / "longer.toml").write_text(TINY.replace("epochs = 1", "epochs = 2"))
    ids = shop.catalog.item_ids.to_list()
    users = {"user_id": list(range(6000)), "history": [[ids[n % 300], ids[n * 7 % 300]] for n in range(6000)]}
    pl.DataFrame(users).write_parquet(home / "users.parquet")
    run(home, "train", "--data", "data", "--model", "popularity", "--out", "popularity")
    return home


def start(home: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sidrec", *words]
    return subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(home: Path, *words: str) -> None:
    process = start(home, *words)
    _, errors = process.communicate()
    assert process.returncode == 0, errors


VERBS: dict[str, list[str]] = {
    "prepare": ["data", "prepare", "--interactions", "reviews.csv", "--out", "out"],
    "embed": ["embed", "data", "--encoder", "tfidf", "--out", "out"],
    "train": ["train", "--data", "data", "--recipe", "tiny.toml", "--out", "out"],
    "evaluate": ["evaluate", "popularity", "--data", "data", "--out", "out"],
    "recommend": ["recommend", "popularity", "--input", "users.parquet", "--output", "out", "--batch-users", "200"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_twice_at_once(verb, home):
    words = VERBS[verb]
    (home / "reviews.csv").write_text(
        "user_id,item_id,timestamp\n" + "".join(f"u{n % 900},i{n % 77},{n}\n" for n in range(30_000))
    )
    both = {"hasty": start(home, *words), "patient": start(home, *words, "--wait")}
    for name, process in both.items():
        _, errors = process.communicate()
        told = name == "hasty" and process.returncode == 2 and "is being written by process" in errors
        assert process.returncode == 0 or told, errors
    left = sorted(path.name for path in home.glob(".out*"))
    assert left == [], left
    if verb == "recommend":
        assert pl.read_parquet(home / "out").height == 6000
        (home / "out").unlink()
    else:
        open_artifact(home / "out")
        (home / "out").rename(home / f"{verb}-done")


def test_a_training_with_other_settings_leaves_the_running_one_alone(home):
    first = start(home, "train", "--data", "data", "--recipe", "tiny.toml", "--out", "both")
    while first.poll() is None and not list(home.glob(".both.work-*")):
        pass
    second = start(home, "train", "--data", "data", "--recipe", "longer.toml", "--out", "both", "--restart")
    errors = [process.communicate()[1] for process in (first, second)]
    assert first.returncode == 0, errors[0]
    assert second.returncode in (0, 2) and "Traceback" not in errors[1], errors[1]
    assert {"history.jsonl", "curve.svg"} <= set(open_artifact(home / "both", "model").manifest["files"])
    assert list(home.glob(".both*")) == []

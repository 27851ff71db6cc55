from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reference.tiny_recipe import TINY
from reference.two_ranks import two_ranks
from sidrec.core.artifacts import Origin, open_artifact, write
from sidrec.data.synthetic import demo_shop
from sidrec.models.registry import load_model
from sidrec.training import together
from sidrec.training.together import alone, ensure_together, leader_first

ORIGIN = Origin("dataset", {"a": 1})


class Pretended:
    """Another process of two, as seen from one; what they say to each other is written down."""

    def __init__(self, *, leads: bool, finished: bool = False) -> None:
        self.leads, self.finished, self.said = leads, finished, []

    def wait(self) -> None:
        self.said.append("wait")

    def from_leader(self, value):
        self.said.append("ask the leader")
        return value if self.leads else self.finished


@pytest.fixture
def as_one_of_two(monkeypatch):
    def pretend(**facts) -> Pretended:
        world = Pretended(**facts)
        monkeypatch.setenv("WORLD_SIZE", "2")
        monkeypatch.setattr(together.World, "here", lambda: world)
        return world

    return pretend


def test_one_process_asks_nobody(monkeypatch, tmp_path):
    monkeypatch.setattr(together.World, "here", lambda: pytest.fail("nobody is there"))
    assert alone()
    with leader_first():
        pass
    assert ensure_together(tmp_path / "run", ORIGIN, lambda: save(tmp_path / "run"), text) == "one"


def save(path: Path) -> None:
    with write(path, ORIGIN) as directory:
        (directory / "text").write_text("one")


def text(artifact) -> str:
    return artifact.file("text").read_text()


def test_the_leader_goes_first_and_lets_the_others_go_on_whatever_happens(as_one_of_two):
    world = as_one_of_two(leads=True)
    with pytest.raises(ZeroDivisionError), leader_first():
        assert world.said == []
        raise ZeroDivisionError
    assert world.said == ["wait"]
    world = as_one_of_two(leads=False)
    with leader_first():
        assert world.said == ["wait"]
    assert world.said == ["wait"]


def test_all_make_one_writes_and_all_read(as_one_of_two, tmp_path):
    made = []
    leader = as_one_of_two(leads=True)
    assert ensure_together(tmp_path / "run", ORIGIN, lambda: made.append(1) or save(tmp_path / "run"), text) == "one"
    assert leader.said == ["ask the leader", "wait"]
    helper = as_one_of_two(leads=False)  # it believes the leader, not the disk, about what is to be done
    assert ensure_together(tmp_path / "run", ORIGIN, lambda: made.append(2), text) == "one"
    assert helper.said == ["ask the leader", "wait"]
    assert made == [1, 2]
    found = as_one_of_two(leads=False, finished=True)
    assert ensure_together(tmp_path / "run", ORIGIN, lambda: made.append(3), text) == "one"
    assert (found.said, made) == (["ask the leader"], [1, 2])


TRAINED_TOKENIZER = """tokenizer = "multi-head-vqvae"
options = { n_codes = 2, codebook_size = 16, pca = 8, hidden = [16], code_width = 4, training = { epochs = 3 } }"""
SEARCHED = """tokenizer = "rq-kmeans"
options = { n_codes = 3, codebook_size = 16, pca = 16 }"""


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", [SEARCHED, TRAINED_TOKENIZER], ids=["rq-kmeans", "multi-head-vqvae"])
def test_two_processes_train_without_ready_ids(tokenizer, tmp_path):
    """Vectors and IDs are made on the way: by one process, or by both together, and written once."""
    demo_shop(n_items=60, n_users=80, seed=1).save(tmp_path / "data")
    assert SEARCHED in TINY
    (tmp_path / "tiny.toml").write_text(TINY.replace(SEARCHED, tokenizer))
    words = ["train", "--data", "data", "--recipe", "tiny.toml", "--out"]
    with two_ranks() as ranks:
        both = [start(tmp_path, *words, "two", **rank) for rank in ranks]
        for process in (*both, start(tmp_path, *words, "one")):
            errors = process.communicate(timeout=300)[1]
            assert process.returncode == 0, errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "one", "tiny.toml", "two"]
    assert open_artifact(tmp_path / "one").fingerprint == open_artifact(tmp_path / "two").fingerprint
    if tokenizer is SEARCHED:
        one, two = (load_model(tmp_path / name).semantic_ids.codes.tolist() for name in ("one", "two"))
        assert one == two


def start(home: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sidrec", *words]
    more = {"OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(
        command, cwd=home, env={**os.environ, **more}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )

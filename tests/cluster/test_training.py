"""Two workers on Ray learn what one process learns, also when one of them is killed."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from reference.tiny_recipe import TINY
from sidrec.cluster.training import Crew, Work, train_on_ray
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.data.synthetic import demo_shop
from sidrec.pipeline.recipes import read_recipe
from sidrec.pipeline.train import train

EPOCHS = 30


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("training")
    demo_shop(n_items=60, n_users=80, seed=1).save(home / "data")
    (home / "tiny.toml").write_text(TINY)
    return home


@pytest.fixture(scope="module")
def recipe(home):
    """Without dropout, whose draws belong to a process and not to a user."""
    changes = ["dropout=0.0", f"training.epochs={EPOCHS}", "training.checkpoint_seconds=0"]
    return read_recipe(str(home / "tiny.toml"), assignments=changes)


@pytest.mark.parametrize("crew", [(0, None), (2, 3), (2, -1)])
def test_a_crew_that_cannot_be_is_refused(crew):
    with pytest.raises(SettingsError, match="workers cannot train"):
        Crew(*crew)


def test_a_crew_says_to_ray_whether_it_may_shrink():
    assert (Crew(2).range, Crew(2, 2).range, Crew(4, 2).range) == (2, 2, (2, 4))


@pytest.mark.slow
def test_two_workers_one_of_them_killed_have_the_losses_of_one_process(home, recipe, two_processors):
    train(home / "data", home / "one", recipe)
    killed: list[int] = []
    killer = threading.Thread(target=kill_a_worker, args=(home / "two", killed), daemon=True)
    killer.start()
    done = train_on_ray(Work(home / "data", home / "two", recipe), Crew(2, 1))
    killer.join(timeout=1)
    assert killed, "a worker was killed after the first checkpoint"
    assert not done.skipped
    one, two = (losses(home / name) for name in ("one", "two"))
    assert len(two) == EPOCHS
    assert two == pytest.approx(one, abs=1e-5)
    assert sorted(path.name for path in home.iterdir()) == ["data", "one", "tiny.toml", "two"]


def losses(model: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (model / "history.jsonl").read_text().splitlines()]


def kill_a_worker(out: Path, killed: list[int]) -> None:
    """The one that leads, when some epochs are behind it."""
    while True:
        time.sleep(0.05)
        with suppress(FileNotFoundError, psutil.NoSuchProcess):  # a checkpoint or a process that is gone meanwhile
            states = list(out.parent.glob(f".{out.name}.work-*/**/state.json"))
            if not states or json.loads(states[0].read_text())["epoch"] < 3:
                continue
            for process in psutil.Process().children(recursive=True):
                if "RayTrainWorker" in " ".join(process.cmdline()):
                    process.kill()
                    killed.append(process.pid)
                    return


@pytest.mark.slow
def test_what_a_user_can_cause_is_said_once_and_in_our_words(home, recipe, two_processors):
    with pytest.raises(ArtifactError, match="no cut-off training with these settings"):
        train_on_ray(Work(home / "data", home / "none", recipe, unfinished="resume"), Crew(1))
    assert not list(home.glob(".none*"))

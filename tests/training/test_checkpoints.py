"""A training that is stopped anywhere goes on as if nothing had happened."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from reference import toy_task
from reference.toy_task import KILLED, QUICK, Net, Task
from sidrec.core.artifacts import open_artifact
from sidrec.core.errors import ArtifactError, StorageError, TrainingError
from sidrec.training import checkpoints, loop
from sidrec.training.loop import train
from sidrec.training.options import TrainingOptions

OFTEN = TrainingOptions(**{**QUICK, "epochs": 3, "checkpoint_seconds": 0.0, "metric": "error", "goal": "min"})


class Stopped(Task):
    """Raises once, in the middle of the given step."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def parts(self, module, batch):
        for losses in super().parts(module, batch):
            yield losses
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt


def same(a: torch.nn.Module, b: torch.nn.Module) -> bool:
    other = b.state_dict()
    return all(torch.equal(tensor, other[name]) for name, tensor in a.state_dict().items())


@pytest.fixture(scope="module")
def uninterrupted() -> tuple[Net, list[dict[str, float]]]:
    module = Net()
    return module, train(module, Task(), OFTEN).history


def without_clocks(history: list[dict[str, float]]) -> list[dict[str, float]]:
    clocks = ("seconds", "samples_per_second")
    return [{key: value for key, value in entry.items() if key not in clocks} for entry in history]


@pytest.mark.parametrize("parts_done", [4, 9, 19, 28])
@pytest.mark.slow
def test_stopped_mid_epoch_and_resumed_is_bit_identical(tmp_path, uninterrupted, parts_done):
    with pytest.raises(KeyboardInterrupt):
        train(Net(), Stopped(parts_done), OFTEN, workdir=tmp_path)
    resumed = Net(seed=3)  # its start must not matter once there is a checkpoint
    result = train(resumed, Task(), OFTEN, workdir=tmp_path)
    assert same(resumed, uninterrupted[0])
    assert without_clocks(result.history) == without_clocks(uninterrupted[1])


@pytest.mark.slow
def test_stopped_before_the_curve_was_drawn_it_is_drawn_by_the_next_run(tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop, "draw_curve", _interrupt)
        train(Net(), Task(), OFTEN, workdir=tmp_path)
    train(Net(), Task(), OFTEN, workdir=tmp_path)
    assert (tmp_path / "curve.svg").is_file()


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def one_thread():
    """As many as the killed process has: sums over other shares of a tensor end in other bits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_is_bit_identical(tmp_path, one_thread):
    """Real SIGKILLs, also while a checkpoint is being written (each step writes one)."""
    whole, killed = Net(), Net()
    torch_threads = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(toy_task.__file__).parents[1])}
    command = [sys.executable, str(toy_task.__file__), "killed", str(tmp_path)]
    moments = random.Random(4)
    kills = 0
    for _ in range(4):
        process = subprocess.Popen(command, env=torch_threads)
        before = _stamp(tmp_path)
        while process.poll() is None and _stamp(tmp_path) == before:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.4))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills >= 2
    train(killed, Task(), TrainingOptions(**KILLED), workdir=tmp_path)
    train(whole, Task(), TrainingOptions(**KILLED))
    assert same(whole, killed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "curve.svg", "history.jsonl"]


def _stamp(workdir: Path) -> int:
    """Changes with every checkpoint."""
    try:
        return (workdir / checkpoints.NAME / "manifest.json").stat().st_mtime_ns
    except FileNotFoundError:
        return 0


@pytest.mark.slow
def test_a_full_disk_is_one_sentence_and_the_earlier_checkpoint_stays(tmp_path, monkeypatch, uninterrupted):
    original, calls = os.fsync, []

    def full_after_a_while(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        original(handle)

    monkeypatch.setattr(os, "fsync", full_after_a_while)
    with pytest.raises(StorageError, match="no space left on the disk; free some"):
        train(Net(), Task(), OFTEN, workdir=tmp_path)
    monkeypatch.undo()
    kept = open_artifact(tmp_path / checkpoints.NAME, "checkpoint").json("state.json")
    assert 0 < kept["epoch"] * 4 + kept["step"] < 12
    resumed = Net()
    train(resumed, Task(), OFTEN, workdir=tmp_path)
    assert same(resumed, uninterrupted[0])


def stopped_at(workdir: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(Net(), Stopped(10), OFTEN, workdir=workdir)


@pytest.mark.parametrize(
    ("module", "task", "changes", "words"),
    [
        (Net(), Task(), {"seed": 7}, "seed was 0, now 7"),
        (Net(), Task(), {"batch_size": 8, "epochs": 4}, "another training \\(batch_size was 16, now 8\\)"),
        (Net(), Task(49), {}, "it had 50 samples, now 49"),
        (torch.nn.Linear(4, 1), Task(), {}, "the weights have other shapes, for example"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_and_kept(tmp_path, module, task, changes, words):
    stopped_at(tmp_path)
    with pytest.raises(TrainingError, match=rf"{words}.*remove this folder to start anew"):
        train(module, task, OFTEN.model_copy(update=changes), workdir=tmp_path)
    assert checkpoints.load(tmp_path, checkpoints.origin(Net(), 50, OFTEN)) is not None


@pytest.mark.slow
def test_a_gentler_rate_may_resume_but_not_rename_a_finished_training(tmp_path):
    stopped_at(tmp_path)
    gentler = OFTEN.model_copy(update={"learning_rate": 0.001})
    assert train(Net(), Task(), gentler, workdir=tmp_path).history[-1]["learning_rate"] < 0.001
    with pytest.raises(TrainingError, match=r"learning_rate was 0.001, now 0.02"):
        train(Net(), Task(), OFTEN, workdir=tmp_path)


@pytest.mark.slow
def test_settings_of_the_run_may_change_on_the_way(tmp_path, uninterrupted):
    stopped_at(tmp_path)
    run = {"minutes": 60.0, "device": "cpu", "checkpoint_seconds": 5.0, "keep_state": False}
    resumed = Net(seed=3)
    train(resumed, Task(), OFTEN.model_copy(update=run), workdir=tmp_path)
    assert same(resumed, uninterrupted[0])


@pytest.mark.slow
def test_a_cut_off_training_may_become_longer_but_not_shorter_than_it_is(tmp_path):
    train(Net(), Task(), OFTEN, workdir=tmp_path)
    with pytest.raises(TrainingError, match=r"epochs was 3, now 2"):
        train(Net(), Task(), OFTEN.model_copy(update={"epochs": 2}), workdir=tmp_path)
    longer = train(Net(), Task(), OFTEN.model_copy(update={"epochs": 4}), workdir=tmp_path)
    assert (longer.epochs, longer.gone_on_from) == (4, (3,))


@pytest.mark.slow
def test_a_checkpoint_is_taken_over_whole_and_never_over_another(tmp_path, uninterrupted):
    stopped_at(tmp_path / "a")
    checkpoints.take_over(tmp_path / "a", tmp_path / "b")
    resumed = Net(seed=3)
    train(resumed, Task(), OFTEN, workdir=tmp_path / "b")
    assert same(resumed, uninterrupted[0])
    checkpoints.take_over(tmp_path / "a", tmp_path / "b")
    found = [checkpoints.standing(tmp_path / name) for name in ("a", "b", "nothing")]
    assert [state and state.finished for state in found] == ["", "epochs", None]
    checkpoints.take_over(tmp_path / "nothing", tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_damaged_checkpoint_is_named(tmp_path):
    stopped_at(tmp_path)
    file = tmp_path / checkpoints.NAME / "weights.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(ArtifactError, match=r"weights.safetensors.*Remove .* to train from the start"):
        train(Net(), Task(), OFTEN, workdir=tmp_path)


@pytest.mark.slow
def test_tied_weights_survive(tmp_path):
    class Tied(Net):
        def __init__(self) -> None:
            super().__init__()
            self.twin = self.inner

    with pytest.raises(KeyboardInterrupt):
        train(Tied(), Stopped(10), OFTEN, workdir=tmp_path)
    resumed, whole = Tied(), Tied()
    train(resumed, Task(), OFTEN, workdir=tmp_path)
    train(whole, Task(), OFTEN)
    assert resumed.twin.weight is resumed.inner.weight
    assert same(resumed, whole)


class OnFrozen(Net):
    """A small network on top of a large one that does not learn."""

    def __init__(self, frozen_seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(frozen_seed)
        self.large = torch.nn.Embedding.from_pretrained(torch.randn(1000, 100, generator=generator), freeze=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x + self.large.weight[:4, :4].mean(0))


@pytest.mark.slow
def test_a_frozen_part_is_not_in_the_checkpoint_and_training_goes_on_exactly(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(OnFrozen(), Stopped(10), OFTEN, workdir=tmp_path)
    sizes = {file.name: file.stat().st_size for file in (tmp_path / checkpoints.NAME).iterdir()}
    assert sum(sizes.values()) < 20_000 < OnFrozen().large.weight.nbytes
    resumed, whole = OnFrozen(), OnFrozen()
    train(resumed, Task(), OFTEN, workdir=tmp_path)
    train(whole, Task(), OFTEN)
    assert same(resumed, whole)
    assert torch.equal(whole.large.weight, OnFrozen().large.weight)


def test_another_frozen_part_is_refused(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(OnFrozen(), Stopped(10), OFTEN, workdir=tmp_path)
    with pytest.raises(TrainingError, match="the frozen part of the network has other weights"):
        train(OnFrozen(frozen_seed=1), Task(), OFTEN, workdir=tmp_path)


def test_removing_the_checkpoint_leaves_history_and_curve(tmp_path):
    train(Net(), Task(), OFTEN.model_copy(update={"epochs": 1}), workdir=tmp_path)
    checkpoints.remove(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curve.svg", "history.jsonl"]

"""Two processes on one machine (gloo) against one process on the joined batch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from reference import toy_task
from reference.toy_task import TOGETHER, Net, Task
from reference.two_ranks import two_ranks
from sidrec.core.errors import SettingsError
from sidrec.training import checkpoints, distributed
from sidrec.training.distributed import World, portion
from sidrec.training.loop import train
from sidrec.training.options import TrainingOptions


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 9))
def test_portions_are_neighbours_that_cover_the_whole(length, parts, start):
    whole = slice(start, start + length)
    pieces = [portion(whole, number, parts) for number in range(parts)]
    assert [row for piece in pieces for row in range(piece.start, piece.stop)] == list(range(start, start + length))
    assert max(p.stop - p.start for p in pieces) - min(p.stop - p.start for p in pieces) <= 1


def test_a_process_alone_has_everything():
    world = World.here("cpu")
    assert (world.rank, world.size, world.leads) == (0, 1, True)
    assert world.share(5) == slice(0, 5)
    assert world.from_leader("mine") == "mine"
    assert world.summed({"a": 1.0}) == {"a": 1.0}
    assert world.device == torch.device("cpu")


def test_only_the_first_process_leads(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    assert distributed.leads()
    monkeypatch.setenv("RANK", "1")
    assert not distributed.leads()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_device_is_refused():
    with pytest.raises(SettingsError, match=r"training.device = cuda: there is no such device here"):
        World.here("cuda")


def together(what: str, workdir: Path) -> None:
    """Run both processes of a toy job to their end."""
    more = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(toy_task.__file__).parents[1])}
    command = [sys.executable, toy_task.__file__, what, str(workdir)]
    with two_ranks() as ranks:
        processes = [subprocess.Popen(command, env={**os.environ, **more, **rank}) for rank in ranks]
        assert [process.wait(timeout=280) for process in processes] == [0, 0]


@pytest.mark.slow
def test_two_processes_have_the_gradient_of_one(tmp_path):
    """The first moment after one step from nothing is a tenth of the gradient."""
    together("one step", tmp_path / "two")
    train(Net(dropout=0.0), Task(), TrainingOptions(**toy_task.ONE_STEP), workdir=tmp_path / "one")
    one, two = (load_file(tmp_path / name / checkpoints.NAME / "optimizer.safetensors") for name in ("one", "two"))
    moments = [name for name in one if name.endswith("/exp_avg")]
    assert one.keys() == two.keys()
    assert not [name for name in one if name.startswith("unused")]
    assert len(moments) == 6
    for name in moments:
        assert one[name].abs().max() > 1e-4
        torch.testing.assert_close(10 * two[name], 10 * one[name], rtol=0, atol=1e-6)


@pytest.mark.slow
def test_two_processes_end_with_the_same_weights_as_one(tmp_path):
    together("together", tmp_path)
    first, second = (load_file(tmp_path / f"rank-{rank}.safetensors") for rank in (0, 1))
    module = Net(dropout=0.0)
    train(module, Task(), TrainingOptions(**TOGETHER))
    for name, tensor in module.state_dict().items():
        assert torch.equal(first[name], second[name])
        torch.testing.assert_close(first[name], tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_accelerate_launch_starts_two_processes(tmp_path):
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(toy_task.__file__).parents[1])}
    command = [*launcher, "--main_process_port", "0", toy_task.__file__, "together", str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.glob("rank-*")) == ["rank-0.safetensors", "rank-1.safetensors"]


def test_a_world_is_handed_in_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    second = World(1, 2, torch.device("cpu"))
    assert distributed.leads()
    with distributed.handed_in(second):
        assert World.here() is second
        assert not distributed.leads()
        assert not distributed.alone()
    assert distributed.leads()
    assert distributed.alone()

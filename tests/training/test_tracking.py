from __future__ import annotations

from pathlib import Path

import pytest

from reference.toy_task import QUICK, Net, Task
from sidrec.core.errors import SettingsError
from sidrec.training import tracking
from sidrec.training.loop import train
from sidrec.training.options import TrainingOptions


def test_a_missing_package_is_named_before_anything_is_trained(monkeypatch, tmp_path):
    monkeypatch.setattr(tracking, "find_spec", lambda name: None)
    task = Task()
    with pytest.raises(SettingsError, match=r"package wandb mlflow is not installed; `pip install wandb mlflow`"):
        train(Net(), task, TrainingOptions(**QUICK, trackers=("wandb", "mlflow")), workdir=tmp_path)
    assert task.visited == []


def test_tensorboard_needs_a_place():
    pytest.importorskip("tensorboard")
    with pytest.raises(SettingsError, match="give the training a work directory"):
        train(Net(), Task(), TrainingOptions(**QUICK, trackers=("tensorboard",)))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the package's own deprecations are not ours
def test_tensorboard_gets_every_epoch(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(Net(), Task(), TrainingOptions(**QUICK, trackers=("tensorboard",)), workdir=tmp_path, name="toy")
    events = [str(path) for path in Path(tmp_path / "toy").glob("events*")]
    accumulator = EventAccumulator(events[0]).Reload()
    assert [event.step for event in accumulator.Scalars("loss/error")] == [1, 2, 3, 4, 5, 6]

"""Checkpoints: everything a killed training needs to go on, whole or not there.

weights.safetensors     trainable parameters and buffers now
optimizer.safetensors   moments per parameter
best.safetensors        weights of the best epoch so far (only with a validation metric)
state.json              position, history, early stopping, loss scale

A frozen part of the network is not stored: its hash says whether the same one is there again.

Random states are not stored: every draw follows from (seed, epoch, step), see seeding.py.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from sidrec.core import artifacts
from sidrec.core.checked_files import damaged, read_json, reason
from sidrec.core.errors import ArtifactError, TrainingError
from sidrec.core.replacing import always
from sidrec.core.settings import LENGTH, RATE, marked
from sidrec.core.storage import recover, temporary
from sidrec.training.early_stopping import EarlyStopping
from sidrec.training.options import TrainingOptions
from sidrec.training.weights import copied, frozen_hash, learned

NAME = "checkpoint"
_MOMENTS = ("exp_avg", "exp_avg_sq")
OTHER_FROZEN_PART = "the frozen part of the network has other weights"


@dataclass
class RunState:
    """Where training stands; `epoch` and `step` count from 0 and name the next step to do."""

    epoch: int = 0
    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    """Sample-weighted sums of the running epoch's figures."""
    history: list[dict[str, float]] = field(default_factory=list)
    stopping: EarlyStopping = field(default_factory=EarlyStopping)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    finished: str = ""
    """Why training ended: "epochs", "patience", "minutes", or nothing while it runs."""
    scale: dict[str, float] = field(default_factory=dict)
    """State of the fp16 loss scale."""
    planned: int = 0
    """Epochs that the run is to have."""
    gone_on_from: list[int] = field(default_factory=list)
    """Epochs after which a longer run was planned."""

    @classmethod
    def read(cls, file: Path) -> RunState:
        """As it was written: what only looked at the kinds would turn whole numbers into others."""
        checked, values = read_json(file, cls), read_json(file, dict[str, Any])
        if min(checked.epoch, checked.step, checked.planned) < 0 or any("epoch" not in one for one in checked.history):
            raise damaged(file, "says that no epoch was ever done")
        plain = {name: values[name] for name in cls.__dataclass_fields__ if name in values and name != "stopping"}
        return cls(**plain, stopping=checked.stopping)

    def goes_on(self, options: TrainingOptions) -> bool:
        """Whether a finished run has more to do with these options: more epochs, or more minutes, than it had."""
        in_time = options.minutes is None or self.seconds < 60.0 * options.minutes
        return self.finished != "patience" and self.epoch < options.epochs and in_time


@dataclass
class Snapshot:
    """The content of a checkpoint."""

    state: RunState
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    best: dict[str, Tensor]


def origin(module: nn.Module, n_samples: int, options: TrainingOptions) -> artifacts.Origin:
    """What a checkpoint belongs to; one of another module, task or way of training is not resumed."""
    task = {"shapes": _shapes(learned(module)), "frozen": frozen_hash(module), "n_samples": n_samples}
    settings = {"options": options.method_values(), **task}
    return artifacts.Origin("checkpoint", settings=settings, seed=options.seed)


def save(workdir: Path, made_from: artifacts.Origin, snapshot: Snapshot) -> None:
    """Replace the checkpoint in one step; the earlier one stays whole when the disk refuses."""
    with artifacts.write(workdir / NAME, made_from, gives_way=always) as folder:
        for name in ("weights", "optimizer", "best"):
            _save_tensors(getattr(snapshot, name), folder / f"{name}.safetensors")
        artifacts.write_json(folder / "state.json", asdict(snapshot.state))


def load(workdir: Path, wanted: artifacts.Origin) -> Snapshot | None:
    """The checkpoint in `workdir`, verified; None where there is none; an error where it belongs to another run."""
    path = workdir / NAME
    recover(path)
    if not path.exists():
        return None
    try:
        with artifacts.opened(path, "checkpoint") as found:
            return _snapshot(path, found, wanted)
    except ArtifactError as error:
        raise ArtifactError(f"{error} Remove {path} to train from the start.") from None


def _snapshot(path: Path, found: artifacts.Artifact, wanted: artifacts.Origin) -> Snapshot:
    state = RunState.read(found.file("state.json"))
    try:
        changes = _changes(found.settings, wanted.settings, _may_change(state, wanted.settings["options"]))
    except (KeyError, TypeError, AttributeError):
        raise damaged(path, "does not say which training it belongs to") from None
    if changes:
        raise TrainingError(
            f"{path}: belongs to another training ({'; '.join(changes)}); "
            "train with the same options, remove this folder to start anew, or choose another work directory."
        )
    tensors = {name: _load_tensors(found.file(f"{name}.safetensors")) for name in ("weights", "optimizer", "best")}
    snapshot, shapes = Snapshot(state, **tensors), wanted.settings["shapes"]
    _check_tensors(snapshot, shapes, path)
    return snapshot


def _load_tensors(file: Path) -> dict[str, Tensor]:
    try:
        return load_file(file)
    except Exception as error:  # a parser that is lied to may raise anything
        raise damaged(file, f"is not a readable safetensors file ({reason(error)})") from None


def _check_tensors(snapshot: Snapshot, shapes: Mapping[str, str], path: Path) -> None:
    """Weights of exactly this network, and moments for parameters that it has."""
    steps = {f"{name}/step": "() torch.float32" for name in shapes}
    moments = {f"{name}/{moment}": shape for name, shape in shapes.items() for moment in _MOMENTS}
    fits = {
        "weights": _shapes(snapshot.weights) == shapes,
        "best": _shapes(snapshot.best) in ({}, shapes),
        "optimizer": _shapes(snapshot.optimizer).items() <= {**steps, **moments}.items()
        and len(snapshot.optimizer) == 3 * len({name.rpartition("/")[0] for name in snapshot.optimizer}),
    }
    for part, fit in fits.items():
        if not fit:
            raise damaged(path / f"{part}.safetensors", "holds other tensors than this network has")


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    return {name: f"{tuple(tensor.shape)} {tensor.dtype}" for name, tensor in tensors.items()}


def standing(workdir: Path) -> RunState | None:
    """Where the training in `workdir` stands, without reading its weights; None where there is no checkpoint."""
    try:
        found = artifacts.open_artifact(workdir / NAME, "checkpoint", verify=False)
        return RunState.read(found.file("state.json"))
    except ArtifactError:
        return None


def take_over(earlier: Path, workdir: Path) -> None:
    """Begin `workdir` with the checkpoint of another place, if there is one and it has none of its own."""
    if (workdir / NAME).exists() or not (earlier / NAME).exists():
        return
    with artifacts.storage_errors(workdir):
        workdir.mkdir(parents=True, exist_ok=True)
        halfway = temporary(workdir / NAME)
        shutil.copytree(earlier / NAME, halfway)
        halfway.rename(workdir / NAME)


def remove(workdir: Path) -> None:
    """Drop the checkpoint once the trained model is safely stored; history and curve stay."""
    shutil.rmtree(workdir / NAME, ignore_errors=True)


def _save_tensors(tensors: dict[str, Tensor], file: Path) -> None:
    """Through Python's own file, so that a full disk is an OSError with its number; tied weights are stored twice."""
    with file.open("wb") as stream:
        stream.write(to_bytes(copied(tensors)))
        stream.flush()
        os.fsync(stream.fileno())


def _may_change(state: RunState, wanted: Mapping[str, Any]) -> set[str]:
    """Options in which a training may go on other than it began: its length, unless more is done already, and while it
    runs what one changes after an explosion."""
    length = marked(TrainingOptions, LENGTH) if wanted["epochs"] > state.epoch else set()
    return length if state.finished else length | marked(TrainingOptions, RATE)


def _changes(found: Mapping[str, Any], wanted: Mapping[str, Any], free: set[str]) -> list[str]:
    old, new = found["options"], wanted["options"]
    changed = [key for key in new if key not in free and old.get(key) != new[key]]
    lines = [f"{key} was {old.get(key)}, now {new[key]}" for key in changed]
    if found["n_samples"] != wanted["n_samples"]:
        lines.append(f"it had {found['n_samples']} samples, now {wanted['n_samples']}")
    differing = [
        k for k in {**found["shapes"], **wanted["shapes"]} if found["shapes"].get(k) != wanted["shapes"].get(k)
    ]
    if differing:
        lines.append(f"the weights have other shapes, for example {differing[0]}")
    if found.get("frozen", "") != wanted["frozen"]:
        lines.append(OTHER_FROZEN_PART)
    return lines

"""`preset = "auto"`: a size that fits the data and the machine, and how long it will take."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sidrec.data.dataset import Dataset
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.training.distributed import World

_WIDTHS = ((30_000, (64, 4, 2)), (300_000, (128, 4, 2)), (None, (256, 8, 4)))
"""Up to so many (history, next item) pairs: d_model, n_heads, n_layers; then the paper's."""
_WIDTH_NAMES = ("d_model", "n_heads", "n_layers", "d_ff")
_SHORTEST, _LONGEST = 5, 20
_MIN_STEPS = 100
_RAREST = 5
"""Epochs between validations, where few pairs make these dearer than the training."""
_FEWEST_EPOCHS, _MOST_EPOCHS = 5, 150
_PAIRS_SEEN = 2_000_000
"""Beyond so many a small model on little data only repeats itself."""
_WORK = {"cpu": 2e13}
_GPU_WORK = 2e15
"""Multiplications and additions that a first model may cost: about twenty minutes."""
_REACHED = 0.35
"""Share of a plain matrix product's speed that training reaches."""


@dataclass(frozen=True)
class Sized:
    """The settled settings, and what there is to say about them."""

    settings: LLaDARecSettings
    words: str


def sized(asked: LLaDARecSettings, data: Dataset) -> Sized:
    """What was not named is chosen: width, epochs and history by the data, epochs by the machine too."""
    lengths = data.train_sequences().lengths
    pairs = max(1, int(np.maximum(lengths - 1, 0).sum()))
    device = World.here(asked.training.device).device
    settings = _with(asked, _width(asked, pairs) | _history(asked, lengths))
    work = Work.of(settings, lengths, pairs)
    settings = _with(settings, _epochs(asked, pairs, work, device.type))
    return Sized(settings, _in_words(settings, pairs, work.in_all(settings), device))


def _width(asked: LLaDARecSettings, pairs: int) -> dict[str, Any]:
    if any(name in asked.model_fields_set for name in _WIDTH_NAMES):
        return {}
    chosen = next(width for most, width in _WIDTHS if most is None or pairs <= most)
    return dict(zip(_WIDTH_NAMES, chosen, strict=False))


def _history(asked: LLaDARecSettings, lengths: NDArray[np.int64]) -> dict[str, Any]:
    """Long enough for nine of ten users."""
    if "max_history" in asked.model_fields_set:
        return {}
    most = int(np.ceil(np.quantile(lengths, 0.9))) if len(lengths) else _LONGEST
    return {"max_history": min(_LONGEST, max(_SHORTEST, most))}


def _epochs(asked: LLaDARecSettings, pairs: int, work: Work, device: str) -> dict[str, Any]:
    training: dict[str, int] = {}
    named = asked.training.model_fields_set
    every = asked.training.validate_every
    if "validate_every" not in named:
        every = training["validate_every"] = int(min(_RAREST, max(1, round(work.validation / work.training))))
    if "epochs" not in named:
        affordable = min(_PAIRS_SEEN / pairs, _WORK.get(device, _GPU_WORK) / (work.training + work.validation / every))
        training["epochs"] = int(min(_MOST_EPOCHS, max(_FEWEST_EPOCHS, affordable)))
    if not named & {"min_steps", "batch_size"}:
        training["min_steps"] = _MIN_STEPS
    return {"training": training} if training else {}


def _with(settings: LLaDARecSettings, chosen: dict[str, Any]) -> LLaDARecSettings:
    options = settings.training.model_copy(update=chosen.get("training", {}))
    return settings.model_copy(update={**chosen, "training": options})


@dataclass(frozen=True)
class Work:
    """Multiplications and additions of an epoch's training, and of one validation."""

    training: float
    validation: float

    @classmethod
    def of(cls, settings: LLaDARecSettings, lengths: NDArray[np.int64], pairs: int) -> Work:
        """Two operations for every weight and token, backwards four; a validation searches slot by slot with beams."""
        d = settings.d_model
        weights = settings.n_layers * (4 * d * d + 3 * d * (settings.d_ff or 4 * d))
        n_codes = len(settings.tokenize.build().codebook_sizes)
        history = float(np.minimum(lengths, settings.max_history).mean()) if len(lengths) else 1.0
        users, tokens = min(settings.validation_users, len(lengths)), n_codes * (history + 1)
        searched = users * n_codes * settings.validation_beam * tokens
        return cls(6.0 * weights * pairs * n_codes * (2 * history + 1), 2.0 * weights * searched)

    def in_all(self, settings: LLaDARecSettings) -> float:
        options = settings.training
        return options.epochs * (self.training + self.validation / options.validate_every)


def _in_words(settings: LLaDARecSettings, pairs: int, work: float, device: torch.device) -> str:
    seconds = work / (_REACHED * _speed(device))
    return (
        f"size by the data ({pairs:,} pairs of history and next item): d_model {settings.d_model}, "
        f"{settings.n_layers} layers, {settings.max_history} items of history, {settings.training.epochs} epochs; "
        f"about {in_time(seconds)} of training on this machine ({device.type}). preset=paper is the published size."
    )


def in_time(seconds: float) -> str:
    """A rough time in words."""
    if seconds < 90:
        return f"{max(1, round(seconds / 10) * 10)} seconds" if seconds >= 10 else "10 seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _speed(device: torch.device) -> float:
    """Operations per second of a plain matrix product, looked at for a moment."""
    one = torch.rand(512, 512, device=device)
    torch.mm(one, one)
    began, rounds = time.perf_counter(), 8
    for _ in range(rounds):
        found = torch.mm(one, one)
    float(found[0, 0])
    return rounds * 2 * 512**3 / max(1e-9, time.perf_counter() - began)

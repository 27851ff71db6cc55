"""Counter-based randomness: every draw follows from (seed, purpose, counters), so a position is a random state.

Nothing is carried from step to step, so training resumed at any step draws what the uninterrupted run would draw.
"""

from __future__ import annotations

import hashlib
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

Purpose = Literal["order", "noise", "dropout", "between epochs"]


def mixed_seed(seed: int, purpose: Purpose, *counters: int) -> int:
    """64 well-mixed bits; neighbouring counters give unrelated seeds (PyTorch keeps only the low 32 on a CPU)."""
    text = ":".join([purpose, str(seed), *(str(counter) for counter in counters)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def generator(seed: int, purpose: Purpose, *counters: int) -> torch.Generator:
    """A CPU generator: noise is the same whatever device the module is on."""
    return torch.Generator().manual_seed(mixed_seed(seed, purpose, *counters))


def epoch_order(seed: int, epoch: int, n_samples: int) -> NDArray[np.int64]:
    """The order in which an epoch visits the samples."""
    return np.random.default_rng(mixed_seed(seed, "order", epoch)).permutation(n_samples)

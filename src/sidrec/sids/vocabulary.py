"""The tokens of semantic IDs: three special ones, then one block per codebook."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import SettingsError

MOST_CODES = 1 << 24
"""Of all codebooks together; more is a mistake or a lie, and tables are made as large as this number."""


@dataclass(frozen=True)
class Vocabulary:
    """PAD, MASK, BOS, then `codebook_sizes[0]` tokens for the codes of slot 0, and so on."""

    codebook_sizes: tuple[int, ...]

    PAD: ClassVar[int] = 0
    MASK: ClassVar[int] = 1
    BOS: ClassVar[int] = 2
    N_SPECIAL: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if not self.codebook_sizes or min(self.codebook_sizes) < 1:
            raise SettingsError(f"codebook sizes {self.codebook_sizes}: at least one codebook with at least one code.")

    @property
    def n_codes(self) -> int:
        return len(self.codebook_sizes)

    @property
    def size(self) -> int:
        return self.N_SPECIAL + sum(self.codebook_sizes)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """First token of each slot's block."""
        return self.N_SPECIAL + np.concatenate([[0], np.cumsum(self.codebook_sizes[:-1])]).astype(np.int64)

"""The tokens of semantic IDs: three special ones, then one block per codebook."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError, SettingsError


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

    def tokens_of(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Codes (..., n_codes) as tokens; -1 (masked) becomes MASK."""
        codes = np.asarray(codes)
        self._check_width(codes)
        if codes.size and ((codes < -1) | (codes >= np.array(self.codebook_sizes))).any():
            raise InputError(f"codes outside their codebooks {self.codebook_sizes}; they belong to other semantic IDs.")
        return np.where(codes < 0, self.MASK, codes + self.offsets)

    def codes_of(self, tokens: NDArray[np.integer]) -> NDArray[np.int32]:
        """Tokens (..., n_codes) as codes, each in its own slot; MASK becomes -1."""
        tokens = np.asarray(tokens)
        self._check_width(tokens)
        codes = np.where(tokens == self.MASK, -1, tokens - self.offsets)
        foreign = (tokens != self.MASK) & ((codes < 0) | (codes >= np.array(self.codebook_sizes)))
        if foreign.any():
            raise InputError("tokens that are no code of their slot; check the order of the slots.")
        return codes.astype(np.int32)

    def _check_width(self, values: NDArray[np.integer]) -> None:
        if values.shape[-1:] != (self.n_codes,):
            raise InputError(f"an ID has {self.n_codes} codes, the given array has shape {values.shape}.")

"""What a tokenizer is given: vectors of the items' text, vectors learned from who had them, or both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class TokenizerInputs:
    """Row i of each belongs to item i; a tokenizer says which it needs."""

    text: Floats
    collaborative: Floats | None = None

    def __len__(self) -> int:
        return len(self.text)

    def take(self, items: NDArray[Any]) -> TokenizerInputs:
        return TokenizerInputs(self.text[items], None if self.collaborative is None else self.collaborative[items])

    def checked(self, *, allow_empty: bool = False) -> TokenizerInputs:
        """Float32 rows without NaN or infinity, as many of each."""
        text = checked(self.text, allow_empty=allow_empty)
        if self.collaborative is None:
            return replace(self, text=text)
        collaborative = checked(self.collaborative, "collaborative vectors", allow_empty=allow_empty)
        if len(text) != len(collaborative):
            raise InputError(f"{len(collaborative)} collaborative vectors for {len(text)} items; give one for each.")
        return TokenizerInputs(text, collaborative)


def as_inputs(vectors: Floats | TokenizerInputs) -> TokenizerInputs:
    """An array alone is the items' text."""
    return vectors if isinstance(vectors, TokenizerInputs) else TokenizerInputs(vectors)


@dataclass(frozen=True)
class Part:
    """How one kind of vector enters: without its mean, and so scaled that its variance in all is one."""

    mean: Floats  # (width,)
    scale: float

    @classmethod
    def fit(cls, vectors: Floats, weight: float = 1.0) -> Part:
        mean = vectors.mean(axis=0, dtype=np.float64)
        spread = float(np.sqrt(((vectors - mean) ** 2).sum(axis=1).mean()))
        return cls(mean.astype(np.float32), weight / spread if spread > 0 else weight)

    def apply(self, vectors: Floats) -> Floats:
        return np.asarray((vectors - self.mean) * np.float32(self.scale), dtype=np.float32)


@dataclass(frozen=True)
class JoinedInputs:
    """Text and collaborative vectors side by side; without parts the text passes as it is."""

    text: Part | None = None
    collaborative: Part | None = None

    @classmethod
    def fit(cls, inputs: TokenizerInputs, weight: float) -> JoinedInputs:
        """`weight` is the collaborative part's beside the text's 1."""
        assert inputs.collaborative is not None
        return cls(Part.fit(inputs.text), Part.fit(inputs.collaborative, weight))

    def apply(self, inputs: TokenizerInputs) -> Floats:
        """New items have no collaborative vectors: there the mean stands in, which says nothing about them."""
        if self.text is None or self.collaborative is None:
            return inputs.text
        _same_width(inputs.text, self.text, "vectors")
        text = self.text.apply(inputs.text)
        if inputs.collaborative is None:
            return np.pad(text, ((0, 0), (0, len(self.collaborative.mean))))
        _same_width(inputs.collaborative, self.collaborative, "collaborative vectors")
        return np.concatenate([text, self.collaborative.apply(inputs.collaborative)], axis=1)

    def state(self) -> dict[str, Floats]:
        parts = {"text": self.text, "collaborative": self.collaborative}
        return {
            f"inputs.{name}.{field}": np.asarray(getattr(part, field), np.float32).reshape(-1)
            for name, part in parts.items()
            if part is not None
            for field in ("mean", "scale")
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Floats]) -> JoinedInputs:
        if "inputs.text.mean" not in state:
            return cls()
        text, collaborative = (
            Part(state[f"inputs.{name}.mean"], float(state[f"inputs.{name}.scale"][0]))
            for name in ("text", "collaborative")
        )
        return cls(text, collaborative)


def checked(vectors: Floats, name: str = "item vectors", *, allow_empty: bool = False) -> Floats:
    """Float32 rows without NaN or infinity, or an error that names the first bad row."""
    # vectors may be a read-only view of a file, which torch does not take
    vectors = np.require(vectors, dtype=np.float32, requirements=["C", "W"])
    if vectors.ndim != 2 or vectors.shape[1] == 0 or (len(vectors) == 0 and not allow_empty):
        raise InputError(f"{name} have shape {vectors.shape}; a row of numbers for each of at least one item.")
    bad = np.flatnonzero(~np.isfinite(vectors.sum(axis=1, dtype=np.float64)))
    if len(bad):
        raise InputError(
            f"{name} have NaN or infinite numbers in {len(bad)} of {len(vectors)} rows, first in row {bad[0]}; "
            "embed these items again or leave them out."
        )
    return vectors


def _same_width(vectors: Floats, part: Part, name: str) -> None:
    check_width(vectors, len(part.mean), name)


def check_width(vectors: Floats, width: int, name: str = "vectors") -> None:
    if vectors.shape[1] != width:
        raise InputError(
            f"{name} have {vectors.shape[1]} numbers, this tokenizer was fitted on {width}; "
            "embed the items with the same encoder and the same pca."
        )

"""What every encoder is: texts in, one float32 vector per text out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sidrec.core.progress import Progress, SilentProgress


@dataclass(frozen=True)
class EncoderState:
    """What an encoder learned from the catalogue, as plain words and numbers."""

    words: list[str] = field(default_factory=list)
    arrays: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)


class Encoder(ABC):
    """An encoder that learns from the catalogue overrides `fit`, `state` and `restore`; pretrained ones need not."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers a vector has."""

    @abstractmethod
    def batches(self, texts: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Encode in the order that is fastest: (which texts, their vectors) until every text was yielded once."""

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """One row per text, in the order given."""
        vectors = np.empty((len(texts), self.width), dtype=np.float32)
        with (progress or SilentProgress()).task("embedding texts", total=len(texts)) as task:
            for rows, encoded in self.batches(texts):
                vectors[rows] = encoded
                task.advance(len(rows))
        return vectors

    def fit(self, texts: Sequence[str]) -> None:  # noqa: B027
        """Learn from the catalogue's texts."""

    def state(self) -> EncoderState | None:
        """What `fit` learned; None where there is nothing."""
        return None

    def restore(self, state: EncoderState) -> None:  # noqa: B027
        """Take back what `state` gave."""

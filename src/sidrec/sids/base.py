"""What every tokenizer is: vectors in, a tuple of codes per vector out, and the vectors back from the codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.settings import Seed, Settings
from sidrec.core.settings_table import in_brief
from sidrec.sids.input_space import InputSpace
from sidrec.sids.inputs import Floats, JoinedInputs, TokenizerInputs, as_inputs, check_width
from sidrec.sids.vocabulary import MOST_CODES

Codes = NDArray[np.int32]
State = Mapping[str, NDArray[np.float32]]
_Rows = TypeVar("_Rows", Floats, Codes)
_CHUNK = 16_384


class TokenizerSettings(Settings):
    """What all tokenizers have in common."""

    n_codes: int = Field(4, ge=1, le=256)
    """Codes per item (M)."""
    codebook_size: int = Field(256, ge=1)
    """Codes per codebook (K)."""
    codebook_sizes: tuple[int, ...] | None = None
    """One size per slot, instead of `n_codes` and `codebook_size`."""
    inputs: Literal["text", "both"] = "text"
    """`text`: the item vectors alone, whatever they were made from. `both`: side by side with collaborative vectors,
    such as those of a trained item-ID model, each kind with the same variance in all."""
    collaborative_weight: float = Field(1.0, gt=0)
    """How much the collaborative vectors count beside the text's 1, where both are taken."""
    pca: int | None = Field(128, ge=1)
    """Principal axes of the vectors to keep; None takes the vectors as they are."""
    whiten: bool = True
    """Give every kept axis the same variance, so that rare distinctions count as much as common ones."""
    seed: Seed = 0

    @model_validator(mode="after")
    def _sizes_are_possible(self) -> Self:
        if self.codebook_sizes is not None and (not self.codebook_sizes or min(self.codebook_sizes) < 1):
            raise ValueError("codebook_sizes needs at least one size, each at least 1")
        if sum(self.sizes) > MOST_CODES:
            raise ValueError(f"{sum(self.sizes):,} codes in all codebooks; at most {MOST_CODES:,} are possible")
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.codebook_sizes or (self.codebook_size,) * self.n_codes


class Tokenizer(ABC):
    """Base of every tokenizer: checks vectors, works in chunks, keeps the input space; subclasses quantise."""

    key: ClassVar[str]
    settings_class: ClassVar[type[TokenizerSettings]]

    def __init__(self, settings: TokenizerSettings | None = None, **values: Any) -> None:
        if settings is not None and values:
            raise SettingsError("give either a settings object or single settings, not both.")
        self.settings = settings or self.settings_class.parse(values, owner=self.key, where=type(self).__name__)
        self._joined = JoinedInputs()
        self._space: InputSpace | None = None
        self._width = 0

    def __repr__(self) -> str:
        state = "not fitted" if self._space is None else f"fitted on vectors of {self._width} numbers"
        return f"{type(self).__name__}({in_brief(self.settings)}): {state}"

    @property
    def codebook_sizes(self) -> tuple[int, ...]:
        return self.settings.sizes

    @property
    def space(self) -> InputSpace:
        if self._space is None:
            raise self._not_fitted()
        return self._space

    @property
    def text_width(self) -> int:
        """Numbers of the text vectors it was fitted on."""
        return self._width if self._joined.text is None else len(self._joined.text.mean)

    @property
    def needs_collaborative(self) -> bool:
        """Whether it cannot be fitted on the text alone."""
        return self.settings.inputs == "both"

    def check_inputs(self, *, collaborative: bool) -> None:
        """Refuse what is missing and what would be ignored, before anything is made."""
        if self.needs_collaborative and not collaborative:
            raise SettingsError(
                f"this {self.key} needs collaborative vectors as well; give the vectors of a trained item-ID model.",
                arguments=("collaborative",),
            )
        if collaborative and not self.needs_collaborative:
            raise SettingsError(
                f"this {self.key} takes no collaborative vectors; set inputs to both, or leave them out.",
                arguments=("collaborative",),
            )

    def fit(
        self, vectors: Floats | TokenizerInputs, progress: Progress | None = None, workdir: Path | None = None
    ) -> Self:
        """Learn codebooks; an array alone is the items' text. `workdir` keeps checkpoints of tokenizers that train."""
        given = as_inputs(vectors)
        self.check_inputs(collaborative=given.collaborative is not None)
        given, both = given.checked(), self.settings.inputs == "both"
        self._joined = JoinedInputs.fit(given, self.settings.collaborative_weight) if both else JoinedInputs()
        joined = self._joined.apply(given)
        self._space = InputSpace.fit(joined, self.settings.pca, self.settings.whiten)
        self._width = joined.shape[1]
        self._fit(self._space.apply(joined), given, progress or SilentProgress(), workdir)
        return self

    def joined(self, vectors: Floats | TokenizerInputs) -> Floats:
        """What is quantised, before its principal axes are taken: the text's vectors, or both kinds side by side."""
        if self._space is None:
            raise self._not_fitted()
        joined = self._joined.apply(as_inputs(vectors).checked(allow_empty=True))
        check_width(joined, self._width)
        return joined

    def encode(self, vectors: Floats | TokenizerInputs) -> Codes:
        """The nearest code in every slot: (n, n_codes)."""
        return self._in_chunks(self._encode, self._inputs(vectors), np.zeros((0, len(self.codebook_sizes)), np.int32))

    def code_distances(self, vectors: Floats | TokenizerInputs, codes: Codes | None = None) -> Floats:
        """Squared distance to the latent with each code in each slot, up to a constant per item: (n, n_codes, max K).

        The other slots are as in `codes` (by default: as `encode` chooses); beyond a slot's own K it is infinite.
        """
        codes = self.encode(vectors) if codes is None else codes
        return self._code_distances(self._inputs(vectors), codes)

    def reconstruct(self, codes: Codes) -> Floats:
        """The vectors the codes stand for: (n, width)."""
        return self.space.invert(self.reconstruct_inputs(codes))

    def reconstruct_inputs(self, codes: Codes) -> Floats:
        """The same in the tokenizer's input space."""
        return self._in_chunks(self._reconstruct, codes, np.zeros((0, self._width), np.float32))

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Everything learned, as arrays; `from_state` brings it back."""
        width = np.array([self._width], np.float32)
        return {**self._joined.state(), **self.space.state(), "width": width, **self._state()}

    @classmethod
    def from_state(cls, settings: TokenizerSettings, state: State) -> Self:
        tokenizer = cls(settings)
        tokenizer._joined = JoinedInputs.from_state(state)
        tokenizer._space = InputSpace.from_state(state)
        tokenizer._width = int(state["width"][0])
        tokenizer._restore(state)
        return tokenizer

    @abstractmethod
    def _fit(self, inputs: Floats, given: TokenizerInputs, progress: Progress, workdir: Path | None) -> None:
        """Learn from the inputs, which are made of `given`."""

    @abstractmethod
    def _encode(self, inputs: Floats) -> Codes:
        """Nearest codes of a chunk."""

    @abstractmethod
    def _code_distances(self, inputs: Floats, codes: Codes) -> Floats:
        """See `code_distances`."""

    @abstractmethod
    def _reconstruct(self, codes: Codes) -> Floats:
        """Inputs back from codes."""

    @abstractmethod
    def _state(self) -> dict[str, NDArray[np.float32]]:
        """The learned arrays."""

    @abstractmethod
    def _restore(self, state: State) -> None:
        """Take the learned arrays back."""

    def _inputs(self, vectors: Floats | TokenizerInputs) -> Floats:
        return self.space.apply(self.joined(vectors))

    def _not_fitted(self) -> InputError:
        return InputError(f"this {self.key} tokenizer is not fitted yet; call fit(vectors) first.")

    @staticmethod
    def _in_chunks(work: Callable[..., _Rows], rows: Floats | Codes, empty: _Rows) -> _Rows:
        chunks = [work(rows[start : start + _CHUNK]) for start in range(0, len(rows), _CHUNK)]
        return np.concatenate(chunks) if chunks else empty

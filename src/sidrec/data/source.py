"""An opened source and what it yields: small tables with our column names that know their file and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError


@dataclass(frozen=True)
class FilePosition:
    """Where a batch begins: a file (or the name of a data frame) and the number of its first row."""

    file: str
    first_row: int
    rows: NDArray[np.int64] | None = None
    """The row of each record, where records and rows are not one to one."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Ours -> theirs for renamed columns: messages speak of the user's own."""

    def calling(self, names: Mapping[str, str]) -> FilePosition:
        """The same place, where our columns are called so."""
        return replace(self, names=names)

    def column(self, name: str) -> str:
        return self.names.get(name, name)

    def at(self, index: int) -> str:
        row = self.first_row + index if self.rows is None else self.rows[index]
        return f"{self.file}, row {row}"

    def problem(self, index: int, column: str, what: str) -> InputError:
        """The error for one cell; `what` ends with the next step."""
        return InputError(f"{self.at(index)}, column {self.column(column)}: {what}")


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of one source, columns already renamed to ours; values not yet checked."""

    frame: pl.DataFrame
    position: FilePosition
    typed: bool = True
    """False where every value came as text, so that numbers are still to be recognised."""
    decimal_comma: bool = False
    """Whether 19,99 is a number there."""


@dataclass(frozen=True)
class Source:
    """An opened data set: how to stream its interactions and, where it has them, its items."""

    format: str
    files: tuple[Path, ...]
    interactions: Callable[[], Iterator[Batch]]
    items: Callable[[], Iterator[Batch]] | None

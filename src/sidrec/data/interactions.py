"""Interactions as integer arrays: ids are coded once on the way in, so that everything after is arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.data.column_values import Clock, id_strings, mixed_units, ratings, timestamps
from sidrec.data.read_ahead import read_ahead
from sidrec.data.schema import ITEM_ID, RATING, TIMESTAMP, USER_ID
from sidrec.data.source import Batch, FilePosition

_MICRO = 1_000_000


@dataclass(frozen=True)
class Interactions:
    """Row r says that user `users[r]` took item `items[r]`; both are codes into the id columns."""

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    timestamps: NDArray[np.int64] | None
    ratings: NDArray[np.float32] | None
    user_ids: pl.Series
    item_ids: pl.Series
    positions: tuple[tuple[int, FilePosition], ...] = ()
    """Where each batch began, while the rows still stand in file order."""

    def __len__(self) -> int:
        return len(self.users)

    def take(self, rows: NDArray[Any]) -> Interactions:
        """Some rows (a mask or indices); where they came from is no longer known."""
        return replace(
            self,
            users=self.users[rows],
            items=self.items[rows],
            timestamps=None if self.timestamps is None else self.timestamps[rows],
            ratings=None if self.ratings is None else self.ratings[rows],
            positions=(),
        )

    def where(self, row: int) -> str:
        """File and row of a row in file order."""
        start, position = self._batch_of(row)
        return position.at(row - start)

    def where_in(self, row: int, column: str) -> str:
        """The same and, as the user calls it, the column."""
        return f"{self.where(row)}, column {self._batch_of(row)[1].column(column)}"

    def _batch_of(self, row: int) -> tuple[int, FilePosition]:
        return max((entry for entry in self.positions if entry[0] <= row), key=lambda entry: entry[0])


class IdCodes:
    """Strings to codes 0, 1, ... in a dictionary of its own; each distinct string is stored once.

    Pieces of a column are coded side by side, so which of two new strings gets the lower code is a matter of luck:
    `in_order` settles it when all are there.
    """

    def __init__(self) -> None:
        self._categories = pl.Categories.random()
        self._type = pl.Categorical(self._categories)
        # the dictionary lives only as long as some column uses it
        self._anchor = pl.Series([], dtype=self._type)
        self._count = 0
        self._known: list[pl.Series] = []

    def code(self, column: str) -> pl.Expr:
        """The codes of a column of strings; new strings get the next ones."""
        return pl.col(column).cast(self._type).to_physical()

    def taken(self, ids: pl.Series, codes: pl.Series) -> NDArray[np.int32]:
        """The codes of these ids as numbers; whatever was coded has to come by here, piece by piece."""
        found, known = _int32(codes), self._count
        self._count = max(known, int(found.max(initial=-1)) + 1)
        if self._count > known:
            # asking the dictionary itself would be a loop over its strings
            rows = np.flatnonzero(found >= known)
            first = np.full(self._count - known, -1)
            first[found[rows] - known] = rows
            assert (first >= 0).all(), "new codes count on from the last ones"
            self._known.append(ids.gather(first))
        return found

    def encode(self, ids: pl.Series) -> NDArray[np.int32]:
        return self.taken(ids, pl.DataFrame({"id": ids}).select(self.code("id"))["id"])

    def ids(self) -> pl.Series:
        """Every id seen, at the index of its code."""
        return pl.concat([pl.Series([], dtype=pl.String), *(part.alias("") for part in self._known)])

    def in_order(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], pl.Series]:
        """All codes and ids, renumbered as they first appear: the same input gives the same codes."""
        ids = self.ids()
        first = np.full(len(ids), len(codes), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last write is the first row
        order = np.argsort(first, kind="stable")
        if (order[:-1] < order[1:]).all():
            return codes, ids
        new = np.empty(len(ids), dtype=np.int32)
        new[order] = np.arange(len(ids), dtype=np.int32)
        return new[codes], ids.gather(order)


def _int32(codes: pl.Series) -> NDArray[np.int32]:
    return codes.to_numpy().astype(np.int32, copy=False)


@dataclass
class _Column:
    """Timestamps of all batches; one clock must hold for the whole file."""

    clock: Clock | None = None
    parts: list[NDArray[Any]] = field(default_factory=list)

    def add(self, column: pl.Series, position: FilePosition) -> None:
        clock, values = timestamps(column, position)
        if self.clock is not None and (clock == "date") != (self.clock == "date"):
            raise position.problem(0, TIMESTAMP, "dates and numbers are mixed; write all times in one way.")
        self.clock = "fraction" if "fraction" in (clock, self.clock) else clock
        self.parts.append(values)

    def values(self) -> NDArray[np.int64]:
        """Whole numbers; where any time has a fraction, all are counted in millionths so that order survives."""
        joined = np.concatenate(self.parts)
        if self.clock == "fraction":
            return np.round(joined.astype(np.float64) * _MICRO).astype(np.int64)
        return joined.astype(np.int64, copy=False)


def collect(batches: Iterator[Batch], source: str, *, mixed_times: bool = False) -> Interactions:
    """All batches as one value; every cell has been checked, and where not told otherwise that times have one unit."""
    user_codes, item_codes, times = IdCodes(), IdCodes(), _Column()
    users: list[NDArray[np.int32]] = []
    items: list[NDArray[np.int32]] = []
    rated: list[NDArray[np.float32]] = []
    positions: list[tuple[int, FilePosition]] = []
    rows = 0
    for batch in read_ahead(batches):
        frame, position = batch.frame, batch.position
        positions.append((rows, position))
        rows += frame.height
        # one select, so that both columns are coded at the same time
        named = pl.DataFrame([id_strings(frame[USER_ID], position), id_strings(frame[ITEM_ID], position)])
        coded = named.select(user_codes.code(USER_ID), item_codes.code(ITEM_ID))
        users.append(user_codes.taken(named[USER_ID], coded[USER_ID]))
        items.append(item_codes.taken(named[ITEM_ID], coded[ITEM_ID]))
        if TIMESTAMP in frame.columns:
            times.add(frame[TIMESTAMP], position)
        if RATING in frame.columns:
            rated.append(ratings(frame[RATING], position))
    if rows == 0:
        raise InputError(f"{source}: has no interactions; give a file with at least one row below the header.")
    ordered_users, user_ids = user_codes.in_order(np.concatenate(users))
    ordered_items, item_ids = item_codes.in_order(np.concatenate(items))
    collected = Interactions(
        ordered_users,
        ordered_items,
        times.values() if times.parts else None,
        np.concatenate(rated) if rated else None,
        user_ids,
        item_ids,
        tuple(positions),
    )
    if not mixed_times and times.clock in ("whole", "fraction"):
        _refuse_mixed(collected, _MICRO if times.clock == "fraction" else 1)
    return collected


def _refuse_mixed(found: Interactions, scale: int) -> None:
    assert found.timestamps is not None
    rows = mixed_units(found.timestamps, scale)
    if rows is not None:
        one, other = (f"{found.timestamps[row] / scale:.15g} ({found.where(row)})" for row in rows)
        raise InputError(
            f"the times {one} and {other} cannot be in one unit: are seconds and milliseconds mixed? "
            "Write all in one unit, or set mixed_times to keep."
        )

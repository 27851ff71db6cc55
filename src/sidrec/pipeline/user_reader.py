"""Pieces of user files in nearly the order in which they come: what is next is read on, not looked for again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from sidrec.pipeline.user_table import UserRows, UserTable


class UserReader:
    """One open file; a worker gets some of its pieces, mostly forwards."""

    def __init__(self) -> None:
        self._table: UserTable | None = None
        self._size, self._next = 0, 0
        self._pieces: Iterator[pa.Table] = iter(())

    def take(self, path: Path, begin: int, size: int) -> UserRows:
        """The piece of `size` users from row `begin` on; a file's last one may be smaller."""
        if not self._leads_to(path, begin, size):
            self._table = UserTable.open(path)
            self._size, self._next, self._pieces = size, begin, self._table.tables(begin, size)
        while self._next < begin:
            self._step()
        return UserRows.of(self._step())

    def _leads_to(self, path: Path, begin: int, size: int) -> bool:
        """Reading on helps inside a row group; a later one is found at once."""
        table = self._table
        same = table is not None and table.path == path and self._size == size
        ahead = same and begin >= self._next and (begin - self._next) % size == 0
        return table is not None and ahead and begin < table.group_end(self._next)

    def _step(self) -> pa.Table:
        piece = next(self._pieces)
        self._next += piece.num_rows
        return piece

"""The users of a batch job: a parquet file with one row per user, read a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as kind

from sidrec.core.errors import InputError

USER_ID, HISTORY = "user_id", "history"
READ_BYTES = 1 << 20


@dataclass(frozen=True)
class UserRows:
    """Some users, in the file's order."""

    user_ids: pa.ChunkedArray
    histories: list[list[str]]

    @classmethod
    def of(cls, table: pa.Table) -> UserRows:
        return cls(table[USER_ID], _item_ids(table[HISTORY]))


@dataclass(frozen=True)
class UserTable:
    """A checked file; nothing but its footer is in memory."""

    path: Path
    file: pq.ParquetFile

    @classmethod
    def open(cls, path: Path, called: Path | None = None) -> UserTable:
        """Columns `user_id` and `history`, a list of item ids, oldest first; everything wrong is said at once."""
        if not path.is_file():
            raise InputError(f"{path}: no such file; give a parquet file with columns {USER_ID} and {HISTORY}.")
        try:
            # without pre-buffering, pages are read when they are needed: a row group may be larger than the memory
            file = pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BYTES)
        except (pa.ArrowException, OSError):
            raise InputError(
                f"{path}: is not a parquet file; write one with columns {USER_ID} and {HISTORY}."
            ) from None
        problems = list(_problems(file.schema_arrow))
        if problems:
            raise InputError(f"{path}: {'; '.join(problems)}.")
        if file.metadata.num_rows == 0:
            raise InputError(f"{called or path}: has no rows; there is nobody to recommend to.")
        return cls(path, file)

    def __len__(self) -> int:
        return int(self.file.metadata.num_rows)

    def read(self, begin: int, size: int) -> Iterator[UserRows]:
        """Pieces of exactly `size` users (the last one may be smaller), from row `begin` on."""
        for table in self.tables(begin, size):
            yield UserRows.of(table)

    def tables(self, begin: int, size: int) -> Iterator[pa.Table]:
        """The same as tables."""
        return _resized(self._batches(begin, size), size)

    def group_end(self, row: int) -> int:
        """Where the row group of this row ends: what comes later is found without reading up to it."""
        end = 0
        for group in range(self.file.metadata.num_row_groups):
            end += self.file.metadata.row_group(group).num_rows
            if row < end:
                break
        return end

    def _batches(self, begin: int, size: int) -> Iterator[pa.Table]:
        """Row groups before `begin` are not even read."""
        metadata, first = self.file.metadata, 0
        while first < metadata.num_row_groups and begin >= metadata.row_group(first).num_rows:
            begin -= metadata.row_group(first).num_rows
            first += 1
        groups = list(range(first, metadata.num_row_groups))
        for batch in self.file.iter_batches(size, row_groups=groups, columns=[USER_ID, HISTORY]):
            passed = min(begin, batch.num_rows)
            begin -= passed
            yield pa.table(batch.slice(passed))


def _resized(tables: Iterator[pa.Table], size: int) -> Iterator[pa.Table]:
    """The same rows in pieces of `size`, so that a part does not depend on how the file was written."""
    rest: pa.Table | None = None
    for table in tables:
        rest = table if rest is None else pa.concat_tables([rest, table])
        while rest.num_rows >= size:
            yield rest.slice(0, size)
            rest = rest.slice(size)
    if rest is not None and rest.num_rows:
        yield rest


def _item_ids(histories: pa.ChunkedArray) -> list[list[str]]:
    """No history is an empty one; a missing item counts as one the catalogue does not have."""
    return [["" if item is None else str(item) for item in row or ()] for row in histories.to_pylist()]


def _problems(schema: pa.Schema) -> Iterator[str]:
    for name in (USER_ID, HISTORY):
        if schema.get_field_index(name) < 0:
            yield f"has no column {name} (it has: {', '.join(schema.names) or 'none'})"
    if schema.get_field_index(HISTORY) >= 0 and not _is_list_of_ids(schema.field(HISTORY).type):
        yield (
            f"column {HISTORY} is {schema.field(HISTORY).type}, it must be a list of item ids, strings or whole "
            f"numbers; in polars: frame.group_by('{USER_ID}').agg(pl.col('item_id').alias('{HISTORY}'))"
        )


def _is_list_of_ids(column: pa.DataType) -> bool:
    if not (kind.is_list(column) or kind.is_large_list(column) or kind.is_fixed_size_list(column)):
        return False
    item = column.value_type.value_type if kind.is_dictionary(column.value_type) else column.value_type
    strings = kind.is_string(item) or kind.is_large_string(item) or kind.is_string_view(item)
    return bool(strings or kind.is_integer(item) or kind.is_null(item))

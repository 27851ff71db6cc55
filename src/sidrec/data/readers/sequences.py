"""`sequences.tsv` (user, TAB, space-separated item ids, oldest first) beside `items.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from sidrec.core.errors import InputError
from sidrec.core.plain_text import short
from sidrec.data.readers.chunks import chunks
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.table import read_items
from sidrec.data.schema import ITEM_ID, USER_ID
from sidrec.data.source import Batch, FilePosition, Source


def sequence_source(events: Path, items: Path | None, columns: Columns) -> Source:
    return Source(
        format="sequences",
        files=(events,) if items is None else (events, items),
        interactions=lambda: read_sequences(events),
        items=None if items is None else lambda: read_items(items, columns),
    )


def read_sequences(path: Path) -> Iterator[Batch]:
    """One row per interaction, in the order of the file; all rows of a line carry that line's number."""
    seen: set[str] = set()
    for chunk in chunks(path, block=1 << 22):
        lines = chunk.data.decode().split("\n")
        rows: list[int] = []
        users: list[str] = []
        items: list[str] = []
        for index, line in enumerate(lines):
            if not line.strip():
                continue
            user, tab, rest = line.rstrip("\r").partition("\t")
            where = FilePosition(str(path), chunk.first_line).at(index)
            if not tab or not rest.strip() or "\r" in rest:
                raise InputError(f"{where}: needs a user, a TAB and space-separated item ids; correct the line.")
            if user in seen:
                raise InputError(f"{where}: user {short(user)} has a line already; put each user's items on one line.")
            seen.add(user)
            found = rest.split()
            users.extend([user] * len(found))
            items.extend(found)
            rows.extend([chunk.first_line + index] * len(found))
        frame = pl.DataFrame({USER_ID: users, ITEM_ID: items}, schema={USER_ID: pl.String, ITEM_ID: pl.String})
        yield Batch(frame, FilePosition(str(path), chunk.first_line, np.array(rows)))

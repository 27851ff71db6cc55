"""Which format a source has: from its names and its first row, never by guessing between two."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from sidrec.core.errors import InputError
from sidrec.data.batches import Source
from sidrec.data.readers.chunks import plain_suffix
from sidrec.data.readers.sequences import read_sequences
from sidrec.data.readers.table import SUFFIXES, read_items, table_source

Format = Literal["table", "sequences"]
FORMATS: tuple[Format, ...] = get_args(Format)


def open_source(path: Path, columns: Mapping[str, str], format: Format | None = None) -> Source:
    """The source in a folder (or a single interactions file)."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; check the path.")
    if path.is_file():
        return table_source(path, None, columns)
    if format != "table" and (path / "sequences.tsv").exists():
        return _sequence_source(path, columns)
    return _table_folder(path, columns)


def _sequence_source(folder: Path, columns: Mapping[str, str]) -> Source:
    events = folder / "sequences.tsv"
    items = folder / "items.jsonl"
    return Source(
        "sequences",
        (events, items) if items.exists() else (events,),
        lambda: read_sequences(events),
        (lambda: read_items(items, columns)) if items.exists() else None,
        timed=False,
    )


def _table_folder(folder: Path, columns: Mapping[str, str]) -> Source:
    files = [file for file in sorted(folder.iterdir()) if plain_suffix(file) in SUFFIXES]
    events = [file for file in files if file.name.split(".")[0] == "interactions"]
    items = [file for file in files if file.name.split(".")[0] == "items"]
    if len(events) != 1 or len(items) > 1:
        seen = ", ".join(file.name for file in sorted(folder.iterdir())) or "nothing"
        raise InputError(
            f"{folder}: cannot tell which files to read; it has: {seen}. Name them with --interactions and --items."
        )
    return table_source(events[0], items[0] if items else None, columns)

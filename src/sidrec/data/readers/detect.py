"""Which format a source has: from its names and its first row, never by guessing between two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from sidrec.core.errors import InputError
from sidrec.data.readers.amazon import amazon_source, are_parts, is_meta, looks_amazon
from sidrec.data.readers.chunks import plain_suffix
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.recbole import recbole_source
from sidrec.data.readers.sequences import sequence_source
from sidrec.data.readers.table import SUFFIXES, table_source
from sidrec.data.schema import SourceFormat
from sidrec.data.source import Source

_MAKERS = {"sequences": sequence_source, "recbole": recbole_source, "table": table_source}


def folder_source(folder: Path, columns: Columns, format: SourceFormat | None = None) -> Source:
    """The one data set in a folder; two that could be meant are an error that lists what was seen."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    found = {name: _events(name, files, columns.events) for name in ([format] if format else get_args(SourceFormat))}
    found = {name: events for name, events in found.items() if events}
    if len(found) != 1:
        raise _unclear(folder, files, found, format)
    name, events = next(iter(found.items()))
    if len(events) > 1 and not (name == "amazon" and are_parts(events)):
        raise _unclear(folder, files, found, format)
    items = _items(name, files)
    if len(items) > 1:
        raise InputError(f"{folder}: has several items files ({_names(items)}); name one.", arguments=("items",))
    return _make(name, events, items[0] if items else None, columns)


def file_source(events: Path, items: Path | None, columns: Columns, format: SourceFormat | None = None) -> Source:
    """Files named one by one; the format follows from the interactions file."""
    for file in (events, *([] if items is None else [items])):
        if not file.is_file():
            raise InputError(
                f"{file}: {'is a folder, not a file' if file.is_dir() else 'no such file'}; check the path."
            )
    kinds: Sequence[SourceFormat] = ("sequences", "recbole", "amazon")
    detected = (name for name in kinds if _events(name, [events], columns.events))
    named: SourceFormat = format if format is not None else next(detected, "table")
    return _make(named, [events], items, columns)


def _events(name: SourceFormat, files: Sequence[Path], columns: Mapping[str, str]) -> list[Path]:
    """The files that could be the interactions of this format."""
    if name == "sequences":
        return [file for file in files if file.name.split(".")[0] == "sequences" and plain_suffix(file) == ".tsv"]
    if name == "recbole":
        return [file for file in files if plain_suffix(file) == ".inter"]
    tables = [file for file in files if plain_suffix(file) in SUFFIXES and not is_meta(file)]
    if name == "amazon":
        return [file for file in tables if not _named(file, "items") and looks_amazon(file, columns)]
    return [file for file in tables if _named(file, "interactions") and not looks_amazon(file, columns)]


def _items(name: str, files: Sequence[Path]) -> list[Path]:
    if name == "recbole":
        return [file for file in files if plain_suffix(file) == ".item"]
    tables = [file for file in files if plain_suffix(file) in SUFFIXES]
    return [file for file in tables if (is_meta(file) if name == "amazon" else _named(file, "items"))]


def _make(name: str, events: Sequence[Path], items: Path | None, columns: Columns) -> Source:
    return amazon_source(events, items, columns) if name == "amazon" else _MAKERS[name](events[0], items, columns)


def _named(file: Path, word: str) -> bool:
    return file.name.split(".")[0] == word


def _names(files: Sequence[Path]) -> str:
    return ", ".join(file.name for file in files[:20]) + (", ..." if len(files) > 20 else "") if files else "nothing"


def _unclear(
    folder: Path, files: Sequence[Path], found: Mapping[str, Sequence[Path]], format: SourceFormat | None
) -> InputError:
    if not found:
        what = f"no interactions in the {format} format" if format else "no interactions in a format we know"
        words = f"{what}; it has: {_names(files)}. Name the files of interactions and items."
        return InputError(f"{folder}: {words}", arguments=("interactions", "items"))
    seen = "; ".join(f"{name}: {_names(events)}" for name, events in found.items())
    return InputError(
        f"{folder}: more than one data set could be meant ({seen}). "
        "Choose a format, or name the files of interactions and items.",
        arguments=("format", "interactions", "items"),
    )

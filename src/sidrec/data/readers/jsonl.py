"""JSON lines: interactions fast and by column, items whole and whatever their fields are."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from sidrec.core.errors import InputError
from sidrec.data.readers.chunks import Chunk, chunks
from sidrec.data.source import Batch, FilePosition


def keys(path: Path) -> list[str]:
    """The fields of the objects at the beginning of the file: its first megabytes."""
    found: dict[str, None] = {}
    for chunk in islice(chunks(path), 2):  # a last line without an end is a chunk of its own
        for value in _objects(chunk, FilePosition(str(path), chunk.first_line)):
            found.update(dict.fromkeys(value))
    return list(found)


def refuse_ragged(path: Path) -> None:
    """Refuse objects that lack a field which others have: nobody knows whether that means empty or unchanged."""
    names = set(keys(path))
    for chunk in chunks(path):
        position = FilePosition(str(path), chunk.first_line)
        for index, value in enumerate(_objects(chunk, position)):
            if value.keys() != names:
                name = sorted(value.keys() ^ names)[0]
                raise position.problem(index, name, "some rows have this field and others not; null empties it.")


def read_columns(path: Path, columns: Sequence[str], unknown: Sequence[str] = ()) -> Iterator[Batch]:
    """Some fields of every object, as strings; a field that an object lacks is null.

    Fields that are `unknown` at the beginning of the file, so that nobody reckoned with them, must not come later.
    """
    for chunk in chunks(path):
        position = FilePosition(str(path), chunk.first_line)
        for name in unknown:
            if json.dumps(name).encode() in chunk.data:
                _refuse_late(name, chunk, position)
        try:
            frame = pl.read_ndjson(io.BytesIO(chunk.data), schema=dict.fromkeys(columns, pl.String))
        except PolarsError as error:
            _find_bad_line(chunk, position)
            raise InputError(f"{position.at(0)}: cannot be read as JSON lines ({error}).") from None
        _refuse_nested(frame, chunk, position)
        yield Batch(frame, position)


def _refuse_late(name: str, chunk: Chunk, position: FilePosition) -> None:
    for index, value in enumerate(_objects(chunk, position)):
        if name in value:
            raise position.problem(index, name, "comes for the first time here; give it to the first rows, too.")


def _objects(chunk: Chunk, position: FilePosition) -> Iterator[dict[str, Any]]:
    for index, line in enumerate(chunk.data.decode().split("\n")):
        if line.strip():
            yield _object(line, position, index)


def _refuse_nested(frame: pl.DataFrame, chunk: Chunk, position: FilePosition) -> None:
    """Lists and objects come back as their JSON text; look again at the lines that could be such."""
    nested = pl.all().str.starts_with("{") | pl.all().str.starts_with("[")
    for name in frame.select(nested.any()).unpivot().filter(pl.col("value"))["variable"]:
        for index, line in enumerate(chunk.data.decode().split("\n")):
            if line.strip() and isinstance(_object(line, position, index).get(name), dict | list):
                raise position.problem(index, name, "holds a list or an object; a single value is needed.")


def read_objects(path: Path, id_field: str) -> Iterator[tuple[FilePosition, list[dict[str, Any]]]]:
    """Every object of an items file, a chunk at a time; ids come out as strings."""
    for chunk in chunks(path):
        position = FilePosition(str(path), chunk.first_line)
        lines = chunk.data.decode().split("\n")
        found = [_object(line, position, index) for index, line in enumerate(lines) if line.strip()]
        for index, value in enumerate(found):
            value[id_field] = _id_string(value.get(id_field), id_field, position, index)
        yield position, found


def objects_frame(objects: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Columns of one kind each: text, lists of text, numbers; objects of text become lists of `name: value`."""
    names = dict.fromkeys(name for value in objects for name in value)
    columns = {name: [value.get(name) for value in objects] for name in names}
    return pl.DataFrame([_column(name, values) for name, values in columns.items() if not _only_objects(values)])


def _only_objects(values: list[Any]) -> bool:
    """Lists of objects (images, videos): no text in them."""
    lists = [value for value in values if isinstance(value, list) and value]
    return bool(lists) and all(isinstance(part, dict) for value in lists for part in value)


def _column(name: str, values: list[Any]) -> pl.Series:
    values = [_pairs(value) if isinstance(value, dict) else value for value in values]
    present = [value for value in values if value is not None]
    if any(isinstance(value, list) for value in present):
        return pl.Series(name, [_texts(value) for value in values], dtype=pl.List(pl.String))
    kinds = {type(value) for value in present}
    if not kinds:
        return pl.Series(name, values, dtype=pl.Null)
    if kinds == {bool}:
        return pl.Series(name, values, dtype=pl.Boolean)
    if kinds == {int} and all(abs(value) < 2**63 for value in present):
        return pl.Series(name, values, dtype=pl.Int64)
    if kinds and kinds <= {int, float}:
        return pl.Series(name, [None if value is None else float(value) for value in values], dtype=pl.Float64)
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _pairs(value: dict[str, Any]) -> list[str]:
    return [f"{name}: {text}" for name, text in value.items() if isinstance(text, str | int | float) and text != ""]


def _texts(value: Any) -> list[str] | None:
    """A list of strings; lists in lists are laid flat, objects in lists (images, videos) hold no text for us."""
    if value is None or not isinstance(value, list):
        return None if value is None else [str(value)]
    flat: list[str] = []
    for part in value:
        if isinstance(part, list):
            flat.extend(_texts(part) or [])
        elif part is not None and not isinstance(part, dict):
            flat.append(str(part))
    return flat


def _id_string(value: Any, field: str, position: FilePosition, index: int) -> str:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or value == "":
        raise position.problem(index, field, "the id is missing; fill it in or remove the row.")
    raise position.problem(index, field, f"ids must be strings or whole numbers, not {json.dumps(value)[:40]}.")


def _object(line: str, position: FilePosition, index: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{position.at(index)}: not valid JSON; each line must be one whole object.") from None
    if not isinstance(value, dict):
        raise InputError(
            f"{position.at(index)}: is JSON but not an object; each line must be one object with named fields."
        )
    return _whole_characters(value) if "\\ud" in line.lower() else value


def _whole_characters(value: Any) -> Any:
    """JSON can hold half a character (a lone surrogate), text cannot: it becomes the sign for a lost one."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole_characters(name): _whole_characters(part) for name, part in value.items()}
    return [_whole_characters(part) for part in value] if isinstance(value, list) else value


def _find_bad_line(chunk: Chunk, position: FilePosition) -> None:
    for index, line in enumerate(chunk.data.decode().split("\n")):
        if line.strip():
            _object(line, position, index)

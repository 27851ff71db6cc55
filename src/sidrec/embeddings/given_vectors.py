"""Vectors that come from outside: the user's file, or a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.checked_tables import UnreadableError, read_parquet
from sidrec.core.errors import InputError
from sidrec.core.mirroring import local
from sidrec.data.catalog import Catalog
from sidrec.data.item_table import read_item_table
from sidrec.data.readers.chunks import plain_suffix
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.frames import as_polars, is_frame
from sidrec.data.readers.table import DELIMITED, JSON_LINES, read_items
from sidrec.data.schema import ITEM_ID


@dataclass(frozen=True)
class GivenVectors:
    """`item_ids` None means one row per catalogue item, in catalogue order; `source` names the file or model."""

    vectors: NDArray[np.float32]
    source: str
    item_ids: Sequence[str] | None = None

    def in_catalogue_order(self, catalog: Catalog) -> NDArray[np.float32]:
        """One finite row per catalogue item; rows of unknown items are left out."""
        if self.vectors.ndim != 2 or self.vectors.shape[1] == 0:
            raise InputError(f"{self.source}: a table of vectors is needed, this has the shape {self.vectors.shape}.")
        vectors = self._by_row(catalog) if self.item_ids is None else self._by_id(catalog, self.item_ids)
        check_finite(vectors, catalog.item_ids.to_list(), self.source)
        return vectors

    def _by_row(self, catalog: Catalog) -> NDArray[np.float32]:
        if len(self.vectors) != len(catalog):
            raise InputError(
                f"{self.source}: {len(self.vectors)} vectors for {len(catalog)} items; without ids there must be one "
                "per item in catalogue order, or give a parquet file with the columns item_id and vector."
            )
        return self.vectors

    def _by_id(self, catalog: Catalog, item_ids: Sequence[str]) -> NDArray[np.float32]:
        if len(item_ids) != len(self.vectors):
            raise InputError(
                f"{self.source}: {len(item_ids)} ids for {len(self.vectors)} vectors; they must be as many."
            )
        rows = {item_id: row for row, item_id in enumerate(item_ids)}
        if len(rows) != len(item_ids):
            twice = next(item_id for row, item_id in enumerate(item_ids) if rows[item_id] != row)
            raise InputError(f"{self.source}: item {twice!r} has more than one vector; keep one.")
        wanted = catalog.item_ids.to_list()
        absent = [item_id for item_id in wanted if item_id not in rows]
        if absent:
            raise InputError(
                f"{self.source}: no vector for {len(absent)} of {len(wanted)} items, first {absent[0]!r}; add them, or "
                "leave these items out of the dataset."
            )
        return self.vectors[[rows[item_id] for item_id in wanted]]


def read_vectors(path: Path) -> GivenVectors:
    """A .npy or .safetensors file (`vectors`) in catalogue order, or a table of item_id and vector or numbers."""
    path = local(path)
    readers = {".npy": _read_npy, ".safetensors": _read_safetensors, ".parquet": _read_parquet}
    readers |= dict.fromkeys((*DELIMITED, *JSON_LINES), _read_text)
    if plain_suffix(path) not in readers:
        raise InputError(f"{path}: vectors are read from {', '.join(readers)} files.")
    if not path.is_file():
        raise InputError(f"{path}: no such file of vectors.")
    return readers[plain_suffix(path)](path)


def as_given(vectors: Any) -> GivenVectors:
    """An array (one row per item, in the order of the items), a data frame with ids, or the path of a file."""
    if isinstance(vectors, GivenVectors):
        return vectors
    if isinstance(vectors, str | Path):
        return read_vectors(Path(vectors))
    if is_frame(vectors):
        return _from_frame(as_polars(vectors, "vectors"), Path("the given vectors"))
    try:
        return GivenVectors(_as_float32(np.asarray(vectors), Path("the given vectors")), "the given vectors")
    except ValueError:
        raise InputError("the given vectors are not all of one length; give one row of numbers per item.") from None


def check_finite(vectors: NDArray[np.float32], item_ids: Sequence[str], source: str) -> None:
    """A NaN or infinity is an error that names the item."""
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise InputError(
            f"{source}: the vector of item {item_ids[bad[0]]!r} holds NaN or infinity ({len(bad)} such items in this "
            "part); correct or leave out these items."
        )


def _as_float32(values: NDArray[np.generic], path: object) -> NDArray[np.float32]:
    if values.dtype.kind not in "fiu":
        raise InputError(f"{path}: holds {values.dtype} instead of numbers.")
    with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which check_finite names by item
        return values.astype(np.float32)


def _read_npy(path: Path) -> GivenVectors:
    try:
        return GivenVectors(_as_float32(np.load(path, allow_pickle=False), path), path.name)
    except (ValueError, EOFError):
        raise InputError(f"{path}: is not a plain .npy array of numbers.") from None


def _read_safetensors(path: Path) -> GivenVectors:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise InputError(f"{path}: is not a safetensors file: {error}.") from None
    if "vectors" not in tensors and len(tensors) != 1:
        raise InputError(f"{path}: needs one tensor called vectors; it has: {', '.join(tensors)}.")
    return GivenVectors(_as_float32(tensors.get("vectors", next(iter(tensors.values()))), path), path.name)


def _read_parquet(path: Path) -> GivenVectors:
    try:
        frame = read_parquet(path)
    except UnreadableError as error:
        raise InputError(f"{path}: {error}; export it again.") from None
    return _from_frame(frame, path)


def _read_text(path: Path) -> GivenVectors:
    return _from_frame(read_item_table(read_items(path, Columns()), None).frame, path)


def _from_frame(frame: pl.DataFrame, path: Path) -> GivenVectors:
    if ITEM_ID not in frame.columns:
        raise InputError(f"{path}: has no column {ITEM_ID}; it has: {', '.join(frame.columns)}.")
    if frame.is_empty() or frame.width == 1:
        raise InputError(f"{path}: has no rows or no vector column; give {ITEM_ID} and one vector per item.")
    ids = frame[ITEM_ID].cast(pl.String).to_list()
    rest = frame.drop(ITEM_ID)
    if rest.width == 1 and isinstance(rest.to_series().dtype, pl.List | pl.Array):
        return GivenVectors(_from_lists(rest.to_series(), ids, path), path.name, ids)
    words = [name for name, kind in rest.schema.items() if not kind.is_numeric()]
    if words:
        raise InputError(f"{path}, column {words[0]}: holds {rest[words[0]].dtype} instead of numbers; leave it out.")
    return GivenVectors(_as_float32(rest.to_numpy(), path), path.name, ids)


def _from_lists(column: pl.Series, ids: list[str], path: object) -> NDArray[np.float32]:
    lengths = column.cast(pl.List(pl.Float32)).list.len().fill_null(0).to_numpy()
    odd = np.flatnonzero(lengths != lengths[:1])
    if len(odd):
        raise InputError(
            f"{path}: the vector of item {ids[odd[0]]!r} has {lengths[odd[0]]} numbers, the first one {lengths[0]}; "
            "all must be equally long."
        )
    flat = column.explode().cast(pl.Float32).fill_null(np.nan).to_numpy()
    return flat.reshape(len(ids), -1)

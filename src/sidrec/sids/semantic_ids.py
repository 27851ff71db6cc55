"""Semantic IDs: a tuple of codes for every item, and the way back from a tuple to its items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact, opened, write_json
from sidrec.core.checked_files import damaged, read_json
from sidrec.core.checked_tables import read_table
from sidrec.core.errors import InputError
from sidrec.sids.id_keys import id_keys
from sidrec.sids.vocabulary import MOST_CODES, Vocabulary

CODES_FILE = "codes.parquet"
CODEBOOKS_FILE = "codebooks.json"


@dataclass(frozen=True)
class SemanticIds:
    """`codes[item]` is the ID of `item_ids[item]`; slot m takes codes 0 .. codebook_sizes[m] - 1."""

    codes: NDArray[np.int32]  # (n_items, n_codes)
    codebook_sizes: tuple[int, ...]
    item_ids: list[str]
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.item_ids), len(self.codebook_sizes)):
            wanted = (len(self.item_ids), len(self.codebook_sizes))
            raise InputError(f"codes have shape {self.codes.shape}, {wanted} is needed: a row per item.")
        if len(self.codes) and ((self.codes < 0) | (self.codes >= np.array(self.codebook_sizes))).any():
            raise InputError(f"codes outside their codebooks {self.codebook_sizes}.")

    def __repr__(self) -> str:
        return f"SemanticIds({self.in_words})"

    @property
    def in_words(self) -> str:
        shape = " x ".join(str(size) for size in self.codebook_sizes)
        return f"{self.n_items:,} items, {self.n_unique:,} different IDs of {shape} codes"

    @property
    def n_items(self) -> int:
        return len(self.codes)

    @property
    def n_codes(self) -> int:
        return len(self.codebook_sizes)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.codebook_sizes)

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """One number per item; equal IDs have equal keys."""
        return id_keys(self.codes, self.codebook_sizes)

    @cached_property
    def _by_key(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        order = np.argsort(self.keys, kind="stable")
        return order, self.keys[order]

    @cached_property
    def n_unique(self) -> int:
        """How many different IDs there are."""
        return len(np.unique(self.keys))

    @cached_property
    def n_colliding(self) -> int:
        """How many items share their ID with another one."""
        counts = np.unique(self.keys, return_counts=True)[1]
        return int(counts[counts > 1].sum())

    def items_of(self, codes: NDArray[np.integer]) -> list[NDArray[np.int64]]:
        """For each ID (rows of `codes`) its items in ascending order; empty where no item has it."""
        codes = np.atleast_2d(np.asarray(codes)).astype(np.int64)
        known = np.asarray(((codes >= 0) & (codes < np.array(self.codebook_sizes))).all(axis=1))
        keys = id_keys(np.where(known[:, None], codes, 0), self.codebook_sizes)
        order, sorted_keys = self._by_key
        left, right = np.searchsorted(sorted_keys, keys, "left"), np.searchsorted(sorted_keys, keys, "right")
        rows = [order[start:end] if ok else order[:0] for start, end, ok in zip(left, right, known, strict=True)]
        # two IDs too long for an exact key could share one, so the codes have the last word
        return [row[(self.codes[row] == code).all(axis=1)] for row, code in zip(rows, codes, strict=True)]

    def with_items(self, codes: NDArray[np.int32], item_ids: list[str]) -> SemanticIds:
        """The same IDs and, behind them, further items'."""
        return SemanticIds(np.concatenate([self.codes, codes]), self.codebook_sizes, self.item_ids + item_ids)

    def take(self, items: NDArray[np.integer]) -> SemanticIds:
        """The IDs of these items, in this order."""
        return SemanticIds(self.codes[items], self.codebook_sizes, [self.item_ids[item] for item in items])

    def write_files(self, directory: Path) -> None:
        """One row per item: its id and a column per slot."""
        columns = {f"code_{slot}": self.codes[:, slot] for slot in range(self.n_codes)}
        frame = pl.DataFrame({"item_id": pl.Series(self.item_ids, dtype=pl.String), **columns})
        frame.write_parquet(Path(directory) / CODES_FILE)
        write_json(Path(directory) / CODEBOOKS_FILE, {"codebook_sizes": list(self.codebook_sizes)})

    @classmethod
    def read_files(cls, artifact: Artifact, fingerprint: str = "") -> SemanticIds:
        """What `write_files` wrote."""
        sizes_file, file = artifact.file(CODEBOOKS_FILE), artifact.file(CODES_FILE)
        sizes = read_json(sizes_file, _Codebooks).codebook_sizes
        if not sizes or min(sizes) < 1 or sum(sizes) > MOST_CODES:
            raise damaged(sizes_file, f"codebooks must have at least one code each, and {MOST_CODES:,} in all at most")
        slots = [f"code_{slot}" for slot in range(len(sizes))]
        frame = read_table(file, {"item_id": "id", **dict.fromkeys(slots, "count")})
        if (frame.select(slots).max().to_numpy() >= np.array(sizes)).any():
            raise damaged(file, f"has codes outside their codebooks {sizes}")
        codes = frame.select(slots).to_numpy().astype(np.int32).reshape(len(frame), len(sizes))
        return cls(np.ascontiguousarray(codes), sizes, frame["item_id"].to_list(), fingerprint)

    @classmethod
    def load(cls, path: Path) -> SemanticIds:
        """The IDs of a `sids` artefact."""
        with opened(Path(path), "sids") as artifact:
            return cls.read_files(artifact, artifact.fingerprint)


@dataclass(frozen=True)
class _Codebooks:
    codebook_sizes: tuple[int, ...]

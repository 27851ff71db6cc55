"""A prepared dataset: catalogue, time-ordered user sequences, and where train, validation and test begin and end."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact, Origin, opened, write, write_json
from sidrec.core.checked_files import damaged
from sidrec.core.checked_tables import ColumnKind, check_column, read_table
from sidrec.core.pages.notebook import html_table
from sidrec.core.replacing import replacing
from sidrec.data.catalog import Catalog
from sidrec.data.histories import Histories, offsets_of
from sidrec.data.schema import CATALOG_FILE, EVENTS_FILE, ITEM_ID, STATISTICS_FILE, TIMESTAMP, USER_ID, USERS_FILE
from sidrec.data.statistics import Statistics, describe

Split = Literal["validation", "test"]


@dataclass(frozen=True)
class Cases:
    """What one evaluation asks: for each user the history that may be seen and the item that came next."""

    users: NDArray[np.int64]
    histories: Histories
    targets: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"Cases({len(self):,} users)"

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: NDArray[np.int64]) -> Cases:
        return Cases(self.users[rows], self.histories.take(rows), self.targets[rows])


@dataclass(frozen=True)
class Dataset:
    """User u has `sequences[u]`: training up to `train_ends[u]`, validation up to `validation_ends[u]`, then test."""

    catalog: Catalog
    user_ids: pl.Series
    sequences: Histories
    train_ends: NDArray[np.int64]
    validation_ends: NDArray[np.int64]
    timestamps: NDArray[np.int64] | None = None
    fingerprint: str = ""
    path: Path | None = None
    """The directory it was loaded from."""

    def __repr__(self) -> str:
        counts = f"{self.n_users:,} users, {self.n_items:,} items, {len(self.sequences.items):,} interactions"
        held_out = ", ".join(f"{len(self.cases(split)):,} {split}" for split in ("validation", "test"))
        return f"Dataset({counts}; held out: {held_out}; {self.path or 'in memory'})"

    def _repr_html_(self) -> str:
        held_out = [(f"held out for {split}", len(self.cases(split))) for split in ("validation", "test")]
        counts = [("users", self.n_users), ("items", self.n_items), ("interactions", len(self.sequences.items))]
        columns = ("item columns", ", ".join(self.catalog.frame.columns))
        return html_table(f"Dataset, {self.path or 'in memory'}", ["figure", "value"], [*counts, *held_out, columns])

    @property
    def n_users(self) -> int:
        return len(self.sequences)

    @property
    def n_items(self) -> int:
        return len(self.catalog)

    def history(self, user_id: str) -> list[str]:
        """All that a user did, as item ids, oldest first: what `recommend` takes."""
        from sidrec.data.user_histories import UserHistories

        return UserHistories.of_dataset(self).of(str(user_id))

    def train_sequences(self) -> Histories:
        """The training part of every user, in user order; some may be empty."""
        starts = self.sequences.offsets[:-1]
        return self.sequences.slice_rows(starts, starts + self.train_ends)

    def train_counts(self) -> NDArray[np.int64]:
        """How often each item occurs in training."""
        return np.bincount(self.train_sequences().items, minlength=self.n_items)

    def cases(self, split: Split) -> Cases:
        """One case per user with a held-out item: the first held-out item, and everything before it as history."""
        starts = self.sequences.offsets[:-1]
        begin, end = (
            (self.train_ends, self.validation_ends)
            if split == "validation"
            else (self.validation_ends, self.sequences.lengths)
        )
        users = np.flatnonzero((end > begin) & (begin > 0))
        at = starts[users] + begin[users]
        return Cases(users, self.sequences.slice_rows(starts[users], at), self.sequences.items[at])

    def statistics(self) -> Statistics:
        return describe(self.sequences, self.catalog)

    def with_content_fingerprint(self) -> Dataset:
        """The same dataset, named by a hash of its content (for datasets that no artefact names)."""
        digest = hashlib.sha256(self.catalog.frame.write_ndjson().encode())
        digest.update(pl.DataFrame({"user_id": self.user_ids}).write_ndjson().encode())
        stamps = () if self.timestamps is None else (self.timestamps,)
        numbers = (self.sequences.items, self.sequences.offsets, self.train_ends, self.validation_ends, *stamps)
        for array in numbers:
            digest.update(np.ascontiguousarray(array).tobytes())
        return replace(self, fingerprint=digest.hexdigest())

    def save(self, path: Path | str, origin: Origin | None = None, *, replace: bool = False) -> Path:
        """Write as an artefact; another dataset that stands there is replaced only with `replace`."""
        origin = origin or Origin("dataset", made_from={"content": self.fingerprint})
        with replacing(replace), write(Path(path), origin) as directory:
            self.write_files(directory)
        return Path(path)

    def write_files(self, directory: Path) -> None:
        self.catalog.frame.write_parquet(directory / CATALOG_FILE)
        users = {
            "user_id": self.user_ids,
            "length": self.sequences.lengths,
            "train_end": self.train_ends,
            "validation_end": self.validation_ends,
        }
        pl.DataFrame(users).write_parquet(directory / USERS_FILE)
        events: dict[str, NDArray[np.int32] | NDArray[np.int64]] = {"item": self.sequences.items}
        if self.timestamps is not None:
            events["timestamp"] = self.timestamps
        pl.DataFrame(events).write_parquet(directory / EVENTS_FILE, compression="lz4")
        write_json(directory / STATISTICS_FILE, self.statistics().as_dict())

    @classmethod
    def load(cls, path: Path) -> Dataset:
        with opened(Path(path), "dataset") as artifact:
            return cls.from_artifact(artifact)

    @classmethod
    def from_artifact(cls, artifact: Artifact) -> Dataset:
        """Every file is checked against the others, so that a dataset that loads can be used."""
        catalog = Catalog(read_table(artifact.file(CATALOG_FILE), {ITEM_ID: "id"}))
        counts: dict[str, ColumnKind] = dict.fromkeys(("length", "train_end", "validation_end"), "count")
        users = read_table(artifact.file(USERS_FILE), {USER_ID: "id", **counts})
        events = read_table(artifact.file(EVENTS_FILE), {"item": "count"})
        lengths, train_ends, validation_ends = (users[name].to_numpy().astype(np.int64) for name in counts)
        if (lengths > events.height).any() or int(lengths.sum()) != events.height:
            raise damaged(artifact.file(USERS_FILE), f"its lengths do not add up to the {events.height:,} events")
        if (train_ends > validation_ends).any() or (validation_ends > lengths).any():
            raise damaged(artifact.file(USERS_FILE), "a split ends before it begins, or behind the last item")
        if events.height and int(events["item"].max()) >= len(catalog):  # type: ignore[arg-type]
            raise damaged(artifact.file(EVENTS_FILE), f"names items beyond the {len(catalog):,} of the catalogue")
        return cls(
            catalog=catalog,
            user_ids=users[USER_ID],
            sequences=Histories(events["item"].to_numpy().astype(np.int32), offsets_of(lengths)),
            train_ends=train_ends,
            validation_ends=validation_ends,
            timestamps=_timestamps(events, artifact.file(EVENTS_FILE)),
            fingerprint=artifact.fingerprint,
            path=artifact.path,
        )


def _timestamps(events: pl.DataFrame, file: Path) -> NDArray[np.int64] | None:
    if TIMESTAMP not in events.columns:
        return None
    check_column(events[TIMESTAMP], "whole", file)
    return events[TIMESTAMP].to_numpy().astype(np.int64)

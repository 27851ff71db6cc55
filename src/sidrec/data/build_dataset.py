"""From a source of interactions to a dataset: which rows and users stay, in which order, and how they are split."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sidrec.core.errors import InputError
from sidrec.core.plain_text import short
from sidrec.core.settings import Settings
from sidrec.data import row_filters, splits
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories, offsets_of
from sidrec.data.interactions import Interactions, collect
from sidrec.data.item_table import ItemTable, read_item_table
from sidrec.data.row_filters import Duplicates
from sidrec.data.schema import ITEM_ID
from sidrec.data.source import Source
from sidrec.data.splits import SHORTEST, Ends, SplitRule


class PrepareSettings(Settings):
    """How interactions become a dataset."""

    k_core: int = Field(0, ge=0)
    """Every user and item must have this many interactions, repeated until it holds; 0 keeps all."""
    split: SplitRule = "leave-one-out"
    duplicates: Duplicates = "keep"
    """Repeats of a (user, item) pair at different times; the same row twice counts once in any case."""
    min_rating: float | None = None
    max_history: int | None = Field(None, ge=3)
    """Keep each user's newest interactions only, held-out items included."""
    unknown_items: Literal["error", "drop", "keep"] = "error"
    """Interactions whose item the items table lacks."""
    short_users: Literal["drop", "error", "train"] = "drop"
    """Users with fewer interactions than the split needs."""
    mixed_times: Literal["error", "keep"] = "error"
    """Times of which some read as seconds and others as milliseconds since 1970 or the like."""
    keep_unused_items: bool = False
    """Keep items without any interaction in the catalogue."""
    validation_share: float = Field(0.1, gt=0, lt=1)
    test_share: float = Field(0.1, gt=0, lt=1)
    validation_from: int | None = None
    """First moment of validation for a global-time split; with `test_from` instead of the shares."""
    test_from: int | None = None

    @model_validator(mode="after")
    def _cuts_fit(self) -> Self:
        if (self.validation_from is None) != (self.test_from is None):
            raise ValueError("validation_from and test_from must be given together")
        if self.validation_from is not None and self.test_from is not None and self.validation_from >= self.test_from:
            raise ValueError("validation_from must lie before test_from")
        if self.validation_share + self.test_share >= 1:
            raise ValueError("validation_share and test_share must leave something to train on")
        return self


CHECKS = {"mixed_times"}
"""Settings that refuse or let pass and never change what comes out: they are no part of a dataset's origin."""


@dataclass
class Tally:
    """What was read and what was left out, and why."""

    rows_read: int = 0
    below_min_rating: int = 0
    duplicates: int = 0
    unknown_items: int = 0
    outside_k_core: int = 0
    cut_from_histories: int = 0
    short_users: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def build_dataset(source: Source, settings: PrepareSettings) -> tuple[Dataset, Tally]:
    """Read, clean, filter and split; a fingerprint is the caller's to give."""
    tally = Tally()
    name = str(source.files[0]) if source.files else "the data frame"
    raw = collect(source.interactions(), name, mixed_times=settings.mixed_times == "keep")
    tally.rows_read = len(raw)
    core = _core(_cleaned(raw, settings, tally), settings, tally)
    table = None
    if source.items is not None:
        used = np.unique(core.items)
        table = read_item_table(source.items(), None if settings.keep_unused_items else raw.item_ids.gather(used))
        core = _known(core, raw, table, settings, tally)
    core = _long_enough(_cut(core, settings, tally), settings, tally)
    return _dataset(core, table, settings), tally


def _cleaned(raw: Interactions, settings: PrepareSettings, tally: Tally) -> Interactions:
    kept = raw
    if settings.min_rating is not None:
        if raw.ratings is None:
            words = "a least rating needs a rating column; say which it is, as rating=NAME."
            raise InputError(words, arguments=("min_rating", "interaction_columns"))
        kept = row_filters.at_least(raw, settings.min_rating)
        tally.below_min_rating = len(raw) - len(kept)
        if not len(kept):
            words = f"no interaction is rated {settings.min_rating} or better; ask for less."
            raise InputError(words, arguments=("min_rating",))
    ordered = row_filters.time_order(kept)
    distinct = row_filters.drop_duplicates(ordered, settings.duplicates)
    tally.duplicates = len(ordered) - len(distinct)
    return distinct


def _core(rows: Interactions, settings: PrepareSettings, tally: Tally) -> Interactions:
    kept = row_filters.k_core(rows, settings.k_core)
    tally.outside_k_core += len(rows) - len(kept)
    if not len(kept):
        raise InputError(
            f"nothing is left after the {settings.k_core}-core: no group of users and items has {settings.k_core} "
            "interactions each; lower k_core.",
            arguments=("k_core",),
        )
    return kept


def _known(
    core: Interactions, raw: Interactions, table: ItemTable, settings: PrepareSettings, tally: Tally
) -> Interactions:
    """Apply the policy for items that the items table lacks.

    Dropping them after a first k-core and taking the k-core again gives the same rows as dropping them first: a core
    of fewer rows lies inside the core of more.
    """
    known = raw.item_ids.is_in(table.ids.implode()).to_numpy()
    if known.all() or settings.unknown_items == "keep":
        return core
    if settings.unknown_items == "error":
        rows = np.flatnonzero(~known[raw.items])
        item_id = raw.item_ids[int(raw.items[rows[0]])]
        raise InputError(
            f"{raw.where_in(int(rows[0]), ITEM_ID)}: item {short(item_id)} is not in the items table "
            f"({len(rows)} of {len(raw)} interactions name {int((~known).sum())} such items); add them, or "
            "set unknown_items to drop or keep.",
            arguments=("unknown_items",),
        )
    rows_known = core.take(known[core.items])
    tally.unknown_items = len(core) - len(rows_known)
    if not len(rows_known):
        raise InputError("no interaction names an item of the items table; check that both use the same ids.")
    return _core(rows_known, settings, tally)


def _cut(core: Interactions, settings: PrepareSettings, tally: Tally) -> Interactions:
    if settings.max_history is None:
        return core
    kept = row_filters.newest(core, settings.max_history)
    tally.cut_from_histories = len(core) - len(kept)
    return kept


def _long_enough(core: Interactions, settings: PrepareSettings, tally: Tally) -> Interactions:
    """Apply the policy for users that the split cannot use; at least one user must be long enough."""
    needed = SHORTEST[settings.split]
    lengths = np.bincount(core.users)
    too_short = (lengths > 0) & (lengths < needed)
    if too_short.sum() == (lengths > 0).sum():
        raise InputError(
            f"no user has the {needed} interactions that a {settings.split} split needs "
            f"(the longest has {int(lengths.max())}); add interactions or relax the filters."
        )
    if settings.short_users == "error" and too_short.any():
        user_id = core.user_ids[int(core.users[too_short[core.users].argmax()])]
        raise InputError(
            f"{int(too_short.sum())} users have fewer than the {needed} interactions that a {settings.split} split "
            f"needs, the first is {short(user_id)}; remove them or set short_users to drop or train.",
            arguments=("short_users",),
        )
    if settings.short_users != "drop" or not too_short.any():
        return core
    tally.short_users = int(too_short.sum())
    return core.take(~too_short[core.users])


def _dataset(core: Interactions, table: ItemTable | None, settings: PrepareSettings) -> Dataset:
    catalog, item_of = _catalog(core, table, settings)
    present, users = _first_seen(core.users)
    lengths = np.bincount(users, minlength=len(present)).astype(np.int64)
    sequences = Histories(item_of[core.items], offsets_of(lengths))
    ends = _ends(core, sequences, settings)
    return Dataset(
        catalog=catalog,
        user_ids=core.user_ids.gather(present).alias("user_id"),
        sequences=sequences,
        train_ends=ends.train,
        validation_ends=ends.validation,
        timestamps=core.timestamps,
    )


def _ends(core: Interactions, sequences: Histories, settings: PrepareSettings) -> Ends:
    if settings.split == "leave-one-out":
        return splits.leave_one_out(sequences.lengths)
    times = core.timestamps
    if times is None:
        words = "a global-time split needs timestamps, this source has none; split by leave-one-out."
        raise InputError(words, arguments=("split",))
    if settings.validation_from is not None and settings.test_from is not None:
        cuts = (settings.validation_from, settings.test_from)
    else:
        cuts = splits.time_cuts(times, settings.validation_share, settings.test_share)
    ends = splits.global_time(times, sequences.offsets, cuts)
    if not ends.train.any():
        raise InputError(f"nothing lies before {cuts[0]}, so there is nothing to train on; choose later cuts.")
    return ends


def _catalog(
    core: Interactions, table: ItemTable | None, settings: PrepareSettings
) -> tuple[Catalog, NDArray[np.int32]]:
    """The items in the order of their table, then any others as they first occur; and the index of each item code."""
    used, _ = _first_seen(core.items)
    ids = pl.DataFrame({ITEM_ID: core.item_ids.gather(used)})
    if table is None:
        frame = ids
    else:
        wanted = (
            table.frame
            if settings.keep_unused_items
            else table.frame.filter(pl.col(ITEM_ID).is_in(ids[ITEM_ID].implode()))
        )
        frame = pl.concat([wanted, ids.join(wanted, on=ITEM_ID, how="anti", maintain_order="left")], how="diagonal")
    item_of = np.full(len(core.item_ids), -1, dtype=np.int32)
    rows = ids.join(frame.select(ITEM_ID).with_row_index("item"), on=ITEM_ID, how="left", maintain_order="left")["item"]
    item_of[used] = rows.to_numpy().astype(np.int32)
    return Catalog(frame), item_of


def _first_seen(codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The codes that occur, in order of first occurrence, and each row's number in that list."""
    first = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    present = np.flatnonzero(first >= 0)
    present = present[np.argsort(first[present])]
    number = np.empty(len(first), dtype=np.int64)
    number[present] = np.arange(len(present))
    return present, number[codes]

"""Data seen by a model: its own, or another week's, whose items it knows by their ids as far as it knows them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import ArtifactError, InputError
from sidrec.data.dataset import Cases, Dataset
from sidrec.data.histories import Histories, offsets_of
from sidrec.data.schema import ITEM_ID, USER_ID
from sidrec.evaluation.results import OtherData
from sidrec.models.base import Recommender


@dataclass(frozen=True)
class View:
    """`items[i]` is the model's index of the data's item i, -1 where it has none; None where both are the same."""

    data: Dataset
    n_items: int
    items: NDArray[np.int32] | None = None
    training: Dataset | None = None
    """What the model was trained on, where that is other data."""

    @classmethod
    def of(cls, model: Recommender, data: Dataset, name: str = "this model", training: Dataset | None = None) -> View:
        """A model of another shop is refused, and one of whose training nothing is known but that it was another."""
        if is_own(model, data):
            return cls(data, len(model.catalog))
        items = model.catalog.index_of(data.catalog.item_ids.to_list())
        if not (items >= 0).any():
            raise InputError(
                f"{name}: was trained on another catalogue ({len(model.catalog)} items, the data has {data.n_items}) "
                "and knows none of its items; evaluate it on the data it was trained on, or train it on this data."
            )
        return cls(data, len(model.catalog), items, training or _trained_on(model, name))

    @cached_property
    def candidates(self) -> NDArray[np.bool_] | None:
        """The model's items that the data has; None where that is all."""
        if self.items is None:
            return None
        found = np.zeros(self.n_items, dtype=bool)
        found[self.items[self.items >= 0]] = True
        return None if found.all() else found

    def translated(self, cases: Cases) -> Cases:
        """The same in the model's items; unknown ones leave the histories, and are -1 as targets."""
        if self.items is None:
            return cases
        found = self.items[cases.histories.items]
        rows = np.repeat(np.arange(len(cases)), cases.histories.lengths)
        lengths = np.bincount(rows[found >= 0], minlength=len(cases)).astype(np.int64)
        return Cases(cases.users, Histories(found[found >= 0], offsets_of(lengths)), self.items[cases.targets])

    def fair(self, cases: Cases) -> Cases:
        """Without the users of whom the model was trained on the very item that it shall find."""
        if self.training is None:
            return cases
        rows = np.repeat(np.arange(len(cases)), cases.histories.lengths)
        again = cases.histories.items == cases.targets[rows]
        asked = pl.DataFrame(
            {
                USER_ID: self.data.user_ids.gather(cases.users),
                ITEM_ID: self.data.catalog.item_ids.gather(cases.targets),
                "before": np.bincount(rows[again], minlength=len(cases)),
            }
        )
        found = asked.join(_learned(self.training), on=[USER_ID, ITEM_ID], how="left", maintain_order="left")
        return cases.take(np.flatnonzero(found["len"].fill_null(0) <= found["before"]))

    def told(self, cases: Cases, judged: Cases) -> OtherData | None:
        """What must be said of the figures; nothing where a model is judged on its own data."""
        if self.items is None:
            return None
        unknown = int((self.items[judged.targets] < 0).sum())
        return OtherData(int((self.items < 0).sum()), unknown, len(cases) - len(judged))


def is_own(model: Recommender, data: Dataset) -> bool:
    """Whether it was trained on this data, or on the same training part of the same items."""
    if model.trained_on and model.trained_on == data.fingerprint:
        return model.catalog.item_ids[: data.n_items].equals(data.catalog.item_ids)
    same_items = model.catalog.item_ids.to_list() == data.catalog.item_ids.to_list()
    return same_items and model.counts.tolist() == data.train_counts().tolist()


def _trained_on(model: Recommender, name: str) -> Dataset:
    """The data that a model was trained on, to tell which held-out items it has seen."""
    where = model.data_path
    try:
        found = None if where is None else Dataset.load(where)
    except ArtifactError:
        found = None
    if found is None or found.fingerprint != model.trained_on:
        place = "are not on the disk" if where is None else f"({where}) are not there any more"
        raise InputError(
            f"{name}: was trained on another training part of this catalogue, and the data it was trained on {place}, "
            "so held-out items may not be new to it; say where these data are, or train it on this data.",
            arguments=("trained_on",),
        )
    return found


def _learned(training: Dataset) -> pl.DataFrame:
    """How often each user has each item in the training part."""
    parts = training.train_sequences()
    users = np.repeat(np.arange(len(parts)), parts.lengths)
    events = {USER_ID: training.user_ids.gather(users), ITEM_ID: training.catalog.item_ids.gather(parts.items)}
    return pl.DataFrame(events).group_by(USER_ID, ITEM_ID).len()

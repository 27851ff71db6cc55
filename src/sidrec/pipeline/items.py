"""The catalogue of a saved model, changed by a table: read, change, save, with nobody writing in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sidrec.core.locks import locked
from sidrec.core.mirroring import local
from sidrec.data.catalog_rows import Rows, item_rows
from sidrec.data.schema import ITEM_ID
from sidrec.models.base import Recommender
from sidrec.models.registry import load_model

Change = Literal["add", "remove", "restore", "update"]


@dataclass(frozen=True)
class ChangedItems:
    """What became of a catalogue."""

    change: Change
    model: str
    out: str
    item_ids: tuple[str, ...]
    """The items that were named."""
    catalog: int
    """Items that the model knows now, those included that are never recommended."""
    removed: int

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "item_ids": list(self.item_ids), "items": len(self.item_ids)}


def change_items(
    path: Path,
    change: Change,
    items: Path,
    *,
    out: Path | None = None,
    vectors: Path | None = None,
    columns: Mapping[str, str] | None = None,
) -> ChangedItems:
    """Change the items of the model at `path` by a table, in place or into `out`; all of them, or nothing is written.

    `columns` says what the table calls ours; `vectors` are those of new items where the old ones' were given.
    """
    place = local(path if out is None else out)
    rows = item_rows(local(items), columns, whole=change == "update")
    with locked(place):  # from before it is read: two changes at once are both kept
        model = load_model(path)
        named = _change(model, change, rows, vectors)
        if named or out is not None:
            model.save(place)
    gone = 0 if model.stock.removed is None else int(model.stock.removed.sum())
    return ChangedItems(change, str(path), str(place), tuple(named), len(model.stock), gone)


def _change(model: Recommender, change: Change, rows: Rows, vectors: Path | None) -> list[str]:
    if change == "add":
        return model.add_items(rows, vectors=vectors)
    if change == "update":
        return model.update_items(rows)
    named: list[str] = rows.frame[ITEM_ID].to_list()
    if named:
        (model.remove_items if change == "remove" else model.restore_items)(named)
    return named

"""Changing what is served. These routes exist only where the service has a token, and only with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Depends, Path

from sidrec.core.errors import InputError
from sidrec.data.schema import ITEM_ID
from sidrec.models.base import Recommender
from sidrec.serving.permission import only_with_token
from sidrec.serving.problems import described
from sidrec.serving.questions import MOST_LETTERS, ItemChange, NewItems, Reload
from sidrec.serving.routes.items import Model
from sidrec.serving.routes.models import cards
from sidrec.serving.schemas import ChangedItems, ModelList
from sidrec.serving.service import TheService

router = APIRouter(prefix="/v1", tags=["admin"], dependencies=[Depends(only_with_token)])
ItemId = Annotated[str, Path(min_length=1, max_length=MOST_LETTERS)]


@router.post("/items", responses=described(400, 401, 404, 409, 413, 422))
def add_items(service: TheService, question: NewItems) -> ChangedItems:
    """New items, which can be recommended at once; the model's directory has them when this answers."""
    frame = _frame(question.items)
    added: list[str] = []

    def add(model: Recommender) -> None:
        added.extend(model.add_items(frame))

    loaded = service.change(question.model, add)
    return ChangedItems(item_ids=added, version=loaded.version)


@router.patch("/items/{item_id:path}", responses=described(400, 401, 404, 409, 413, 422))
def change_item(service: TheService, item_id: ItemId, question: ItemChange) -> ChangedItems:
    """Hide an item, bring it back, or give it other values in columns of the catalogue."""

    def change(model: Recommender) -> None:
        if question.fields:
            if ITEM_ID in question.fields:
                raise InputError("an item keeps its id; nothing was changed.")
            model.update_items(_frame([{ITEM_ID: item_id, **question.fields}]))
        if question.removed is not None:
            (model.remove_items if question.removed else model.restore_items)([item_id])

    service.models.get(question.model).item(item_id)
    return ChangedItems(item_ids=[item_id], version=service.change(question.model, change).version)


@router.delete("/items/{item_id:path}", responses=described(401, 404, 409, 422))
def remove_item(service: TheService, item_id: ItemId, model: Model = None) -> ChangedItems:
    """Never recommend an item again; in histories it keeps its meaning."""
    service.models.get(model).item(item_id)
    loaded = service.change(model, lambda changed: changed.remove_items([item_id]))
    return ChangedItems(item_ids=[item_id], version=loaded.version)


@router.post("/models/reload", responses=described(400, 401, 404, 409, 413, 422))
def reload(service: TheService, question: Reload) -> ModelList:
    """Load what stands in the models' directories now; a broken one is refused, and the old one goes on."""
    service.reload(question.model)
    return cards(service.models)


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    named = [{**row, ITEM_ID: _id_of(row)} for row in rows]
    try:
        return pl.DataFrame(named, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        raise InputError("items: a column has values of several kinds; give all rows the same.") from None


def _id_of(row: Mapping[str, Any]) -> str:
    found = row.get(ITEM_ID)
    if isinstance(found, bool) or not isinstance(found, str | int) or not 1 <= len(str(found)) <= MOST_LETTERS:
        raise InputError(f"every new item needs an item_id, a text of 1 to {MOST_LETTERS} letters or a number.")
    return str(found)

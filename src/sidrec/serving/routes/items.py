"""The catalogue: found by title, looked at one by one, and as a map."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from sidrec.serving.catalogue import brief, card, code_map
from sidrec.serving.problems import described
from sidrec.serving.questions import ModelName
from sidrec.serving.schemas import CatalogueMap, FoundItems, ItemCard
from sidrec.serving.service import TheService

router = APIRouter(prefix="/v1", tags=["items"])
Model = Annotated[ModelName | None, Query(description="A name of `GET /v1/models`; without it the first.")]
MOST_CODES = 100_000


@router.get("/items", responses=described(404, 422))
def find_items(
    service: TheService,
    query: Annotated[str, Query(max_length=200, description="Words of a title; the last may be unfinished.")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    model: Model = None,
) -> FoundItems:
    """Items by title, the best match first; without words the most popular items."""
    loaded = service.models.get(model)
    items, total = loaded.titles.find(query, limit)
    exact = int(loaded.stock.catalog.index_of([query.strip()])[0])
    if exact >= 0 and exact not in items:
        items, total = [exact, *items[: limit - 1]], total + 1
    return FoundItems(items=[brief(loaded, item) for item in items], total=total)


@router.get("/items/{item_id:path}", responses=described(404, 422))
def one_item(
    service: TheService,
    item_id: Annotated[str, Path(max_length=512)],
    neighbours: Annotated[int, Query(ge=0, le=100)] = 12,
    model: Model = None,
) -> ItemCard:
    """What the catalogue says of an item, its semantic ID, and the items with the most codes in common."""
    loaded = service.models.get(model)
    return card(loaded, loaded.item(item_id), neighbours)


@router.get("/map", responses=described(404, 422))
def catalogue_map(
    service: TheService,
    x: Annotated[int, Query(ge=1, le=MOST_CODES, description="A slot of the semantic IDs, from 1.")] = 1,
    y: Annotated[int, Query(ge=1, le=MOST_CODES, description="Another slot.")] = 2,
    model: Model = None,
) -> CatalogueMap:
    """How many items have each pair of codes, for two slots."""
    return code_map(service.models.get(model), x, y)

"""Items as the service shows them: in brief, with their neighbours by codes, and all of them on a map."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sidrec.serving.model_store import LoadedModel
from sidrec.serving.problems import ProblemError
from sidrec.serving.schemas import CatalogueMap, ItemBrief, ItemCard, MapCell, Neighbour

N_TITLES = 3
MOST_CELLS = 5_000


def brief(loaded: LoadedModel, item: int) -> ItemBrief:
    return ItemBrief(**_brief(loaded, item))


def card(loaded: LoadedModel, item: int, n_neighbours: int) -> ItemCard:
    """One item with all that the catalogue says, and the items with the most codes in common."""
    stock, codes = loaded.stock, loaded.codes
    removed = stock.removed is not None and bool(stock.removed[item])
    fields = json.loads(json.dumps(stock.catalog.frame.row(item, named=True), default=str, allow_nan=True))
    neighbours: list[Neighbour] = []
    alike: list[int] = []
    if codes is not None:
        same = codes == codes[item]  # (n_items, n_codes)
        shared = same.sum(1)
        shared[item] = -1
        alike = np.bincount(shared[shared >= 0], minlength=codes.shape[1] + 1).tolist()
        nearest = np.lexsort((-stock.counts, -shared))[:n_neighbours]
        neighbours = [
            Neighbour(**_brief(loaded, other), shared=(np.flatnonzero(same[other]) + 1).tolist())
            for other in nearest.tolist()
            if shared[other] > 0
        ]
    return ItemCard(**_brief(loaded, item), fields=_finite(fields), removed=removed, neighbours=neighbours, alike=alike)


def code_map(loaded: LoadedModel, x_slot: int, y_slot: int) -> CatalogueMap:
    """How many items have each pair of codes in two slots, counted from 1."""
    ids = loaded.stock.ids
    if ids is None:
        raise ProblemError(422, f"{loaded.name} does not know items by codes, so there is no map of them.")
    sizes, codes = ids.semantic_ids.codebook_sizes, ids.codes
    if not (1 <= x_slot <= len(sizes) and 1 <= y_slot <= len(sizes)):
        raise ProblemError(422, f"slots are counted from 1 to {len(sizes)}.")
    x_size, y_size = sizes[x_slot - 1], sizes[y_slot - 1]
    places = codes[:, x_slot - 1].astype(np.int64) * y_size + codes[:, y_slot - 1]
    order = np.argsort(places, kind="stable")
    cells, starts, counts = np.unique(places[order], return_index=True, return_counts=True)
    titles = loaded.stock.catalog.titles
    shown = [
        MapCell(
            x=int(cells[cell]) // y_size,
            y=int(cells[cell]) % y_size,
            count=int(counts[cell]),
            titles=[titles[item] for item in order[starts[cell] : starts[cell] + N_TITLES]],
        )
        for cell in np.argsort(-counts, kind="stable")[:MOST_CELLS]
        if counts[cell]
    ]
    return CatalogueMap(x_slot=x_slot, y_slot=y_slot, x_size=x_size, y_size=y_size, cells=shown)


def _brief(loaded: LoadedModel, item: int) -> dict[str, Any]:
    catalog, codes = loaded.stock.catalog, loaded.codes
    return {
        "item_id": catalog.item_ids[item],
        "title": catalog.titles[item],
        "semantic_id": None if codes is None else codes[item].tolist(),
    }


def _finite(value: Any) -> Any:
    """JSON has no word for what is not a number."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value

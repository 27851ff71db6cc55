"""A model's answer in the shapes of `schemas`, for the service and for the command line."""

from __future__ import annotations

from collections.abc import Sequence

from sidrec.decoding.drawing import StepStory, Teller, told
from sidrec.models.base import Recommender
from sidrec.models.id_search import Generation
from sidrec.models.ranking import Recommendations
from sidrec.serving.schemas import Recommended, RecommendedItem

N_TITLES = 10


def recommended(
    model: Recommender,
    history: Sequence[str],
    answer: Recommendations,
    row: int = 0,
    steps: list[StepStory] | None = None,
) -> Recommended:
    """One row of the answer."""
    stock = model.stock
    item_ids = answer.item_ids[row]
    ids: list[list[int] | None] = [None] * len(item_ids)
    if stock.ids is not None:
        ids = stock.ids.codes[stock.catalog.index_of(item_ids)].tolist()
    columns = zip(item_ids, answer.titles[row], answer.scores[row], ids, strict=True)
    return Recommended(
        model=model.key,
        history=list(history),
        fallback=answer.fallback[row],
        unknown_items=answer.unknown_items[row],
        notes=list(answer.notes),
        items=[
            RecommendedItem(item_id=item_id, title=title, score=score, semantic_id=codes)
            for item_id, title, score, codes in columns
        ],
        steps=steps,
    )


def steps_of(generation: Generation, titles: Sequence[str], n_beams: int = 3) -> list[StepStory]:
    """The steps for programs; of the items that fit a candidate, the first few titles."""
    teller = Teller(titles, generation.constraint, n_beams=n_beams, n_titles=N_TITLES)
    return told(generation.trace, teller)

"""What is answered, as JSON: the shapes of the service, and of the command line where it answers the same.

A step of a generation is `sidrec.decoding.drawing.StepStory`, told once for the terminal, for `--json` and for pages.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sidrec.decoding.drawing import StepStory

EXAMPLE_ITEM: dict[str, Any] = {"item_id": "P00042", "title": "Oak desk lamp", "semantic_id": [17, 3, 201, 88]}


class Shape(BaseModel):
    """Base of everything that is answered."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class ItemBrief(Shape):
    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE_ITEM]})

    item_id: str
    title: str
    """What to show; the item's id where it has no title."""
    semantic_id: list[int] | None = None
    """Its codes; null for models that do not know items by codes."""


class RecommendedItem(ItemBrief):
    score: float
    """Higher is better; comparable within one answer."""


class Recommended(Shape):
    """One user's list. The command line prints the same with `--json`."""

    model: str
    """The model's key, such as llada-rec."""
    history: list[str]
    fallback: bool
    """True where nothing of the history is known, so these are the most popular items."""
    unknown_items: int
    """How many items of the history the catalogue does not have; they were skipped."""
    notes: list[str]
    """What should be known about the filters."""
    items: list[RecommendedItem]
    steps: list[StepStory] | None = None
    """How the items were generated, where that was asked and the model generates step by step."""


class Served(Recommended):
    """The same, and who answered."""

    name: str
    """The name the model is served by."""
    version: str
    """A hash of the model's files."""
    milliseconds: float
    """From the request to the answer, waiting included."""


class ServedBatch(Shape):
    answers: list[Served]


class Capabilities(Shape):
    """What can be asked of a model beyond a list."""

    semantic_ids: bool
    explains: bool
    """`trace` shows its generation step by step."""
    searches: bool
    """What `search_options` names changes how it generates."""
    steers: bool
    """`like` and `keep` restrict it to items that agree with one."""
    adds_items: bool
    """New items can be recommended without training."""


class ModelCard(Shape):
    name: str
    model: str
    summary: str
    version: str
    loaded_at: str
    n_items: int
    codebook_sizes: list[int] | None
    """Codes of each slot of a semantic ID."""
    columns: list[str]
    """Columns of the catalogue, which filters can name."""
    capabilities: Capabilities
    search: dict[str, Any] | None
    """How it searches unless asked otherwise; null for models that do not search."""
    search_options: list[str]
    """Those of `beam_size`, `n_steps` and `order` that can be asked of it."""
    default: bool
    """Asked when a request names no model."""


class ModelList(Shape):
    models: list[ModelCard]


class FoundItems(Shape):
    items: list[ItemBrief]
    total: int
    """How many items match; the best are listed."""


class Neighbour(ItemBrief):
    shared: list[int]
    """The slots, from 1, in which both have the same code."""


class ItemCard(ItemBrief):
    fields: dict[str, Any]
    """All columns of the catalogue."""
    removed: bool
    """True for an item that is never recommended."""
    neighbours: list[Neighbour]
    """Items with the most codes in common, likest first; empty for models without codes."""
    alike: list[int]
    """How many other items share exactly 0, 1, 2, ... codes with it."""


class MapCell(Shape):
    x: int
    y: int
    count: int
    titles: list[str]
    """A few of its items."""


class CatalogueMap(Shape):
    """The catalogue by the codes of two slots."""

    x_slot: int
    y_slot: int
    x_size: int
    y_size: int
    cells: list[MapCell]
    """Only cells with items, the fullest first."""


class SampleUser(Shape):
    name: str
    """Not the user's id."""
    history: list[ItemBrief]
    came_next: ItemBrief
    """The held-out item that truly came next, which the model has never seen for this user."""


class SampleUsers(Shape):
    users: list[SampleUser]
    why_none: str | None = None
    """Why there are none."""


class Health(Shape):
    status: str = Field(examples=["ok"])


class Appended(Shape):
    """Events that are kept now, on the disk."""

    acknowledged: int
    new: int
    """Those that were not known yet."""


class Forgotten(Shape):
    events: int
    """How many were removed."""


class ChangedItems(Shape):
    item_ids: list[str]
    version: str
    """Of the model with the change in it."""

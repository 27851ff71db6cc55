"""What may be asked, as JSON, with limits: nothing beyond them reaches a model."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_K = 500
MOST_BEAMS = 500
MOST_STEPS = 256
MOST_HISTORY = 2_000
MOST_LISTED = 10_000
"""Item ids or values that a filter may list."""
MOST_TOGETHER = 100
"""Histories of one batch request."""
MOST_LETTERS = 512
"""Of an id."""
MOST_BYTES = 1 << 20
"""Of a request's body."""

SEARCH_OPTIONS = ("beam_size", "n_steps", "order")
"""What can be asked of a search, where it leaves them free."""
PLAIN = r"^[^\x00\n\r]+$"
"""Ids that a path can hold, too."""
ItemIdText = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS)]
UserIdText = Annotated[str, Field(min_length=1, max_length=MOST_LETTERS, pattern=PLAIN)]
ModelName = Annotated[str, Field(min_length=1, max_length=256)]
Whole = Annotated[int, Field(ge=-(1 << 63), lt=1 << 64)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Scalar = bool | Whole | Number | Annotated[str, Field(max_length=2_000)] | None
Values = Annotated[list[Scalar], Field(max_length=MOST_LISTED)]
Column = Annotated[str, Field(max_length=256)]
Demands = dict[Literal["<", "<=", ">", ">=", "not"], Scalar | Values]
Filter = (
    Annotated[str, Field(max_length=10_000)]
    | Annotated[list[ItemIdText], Field(max_length=MOST_LISTED)]
    | Annotated[dict[Column, Scalar | Values | Demands], Field(max_length=64)]
)
"""THE filter language: text, item ids, or {column: value, values or bounds}; see docs/serving.md."""


class Question(BaseModel):
    """Base of everything that is asked: unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class RecommendOptions(Question):
    model: ModelName | None = None
    """A name of `GET /v1/models`; null: the first."""
    k: int = Field(10, ge=1, le=MOST_K)
    exclude_seen: bool = False
    """Leave out what the history holds."""
    allow: Filter | None = Field(None, examples=["20<=price<50 and brand=Acme,Zoll"])
    """Only items that meet this."""
    deny: Filter | None = Field(None, examples=[["P00001"]])
    """No item that meets this."""
    beam_size: int | None = Field(None, ge=1, le=MOST_BEAMS)
    """Candidates kept after every filled slot, for models that search."""
    n_steps: int | None = Field(None, ge=1, le=MOST_STEPS)
    """Forward passes of a generation, for models that search."""
    order: Literal["adaptive", "left-to-right", "right-to-left"] | None = None
    """Which slot is filled first, for models that search."""
    like: ItemIdText | None = None
    """With `keep`: only items that agree with this one, for models that can be steered."""
    keep: Annotated[list[Annotated[int, Field(ge=1, le=1_000)] | Column], Field(min_length=1, max_length=64)] | None = (
        None
    )
    """Slots of its semantic ID, from 1, and columns of the catalogue."""

    @property
    def search(self) -> dict[str, Any]:
        asked = {name: getattr(self, name) for name in SEARCH_OPTIONS}
        return {name: value for name, value in asked.items() if value is not None}

    @model_validator(mode="after")
    def _steering_is_whole(self) -> Self:
        if (self.like is None) != (self.keep is None):
            raise ValueError("like and keep belong together: which item, and what of it to keep")
        return self


class RecommendQuestion(RecommendOptions):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"history": ["P00001", "P00007"], "k": 5, "exclude_seen": True},
                {"history": ["P00001"], "k": 3, "allow": "price<50", "beam_size": 20, "trace": True},
            ]
        }
    )

    history: Annotated[list[ItemIdText], Field(max_length=MOST_HISTORY)] | None = None
    """Item ids, oldest first."""
    user_id: UserIdText | None = None
    """Somebody whose history the service's store has, instead of `history`."""
    trace: bool = False
    """Show the generation step by step."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.history is None) == (self.user_id is None):
            raise ValueError("give either history, a list of item ids, or user_id")
        return self


class BatchQuestion(RecommendOptions):
    model_config = ConfigDict(json_schema_extra={"examples": [{"histories": [["P00001"], ["P00002", "P00003"]]}]})

    histories: Annotated[
        list[Annotated[list[ItemIdText], Field(max_length=MOST_HISTORY)]], Field(min_length=1, max_length=MOST_TOGETHER)
    ]
    """Item ids, oldest first, one list per user."""


class NewEvent(Question):
    """A user took an item."""

    event_id: UserIdText | None = None
    """Equal ids are the same event, however often it is sent; without one, user, item and time make it."""
    user_id: UserIdText
    item_id: Annotated[str, Field(min_length=1, max_length=MOST_LETTERS, pattern=PLAIN)]
    timestamp: int | None = Field(None, ge=0, le=4_102_444_800_000, examples=[1_767_225_600_000])
    """Milliseconds since 1970; without it, now."""

    @model_validator(mode="after")
    def _can_be_sent_again(self) -> Self:
        if self.event_id is None and self.timestamp is None:
            raise ValueError("give event_id or timestamp, so that the event can be sent again and counts once")
        return self


class NewEvents(Question):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"events": [{"event_id": "order-7-1", "user_id": "u7", "item_id": "P00001"}]}],
        }
    )

    events: Annotated[list[NewEvent], Field(min_length=1, max_length=1_000)]


class NewItems(Question):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"items": [{"item_id": "N1", "title": "Oak desk lamp", "price": 29.5}]}]}
    )

    items: Annotated[
        list[Annotated[dict[Column, Scalar | Values], Field(max_length=256)]], Field(min_length=1, max_length=1_000)
    ]
    """Rows with `item_id` and columns of the catalogue; columns that are left out stay empty."""
    model: ModelName | None = None


class ItemChange(Question):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fields": {"price": 19.5, "in_stock": True}}, {"removed": True}]}
    )

    removed: bool | None = None
    """True: never recommend it again; false: recommend it again."""
    fields: Annotated[dict[Column, Scalar | Values], Field(max_length=256)] | None = None
    """Other values in columns of the catalogue, for filters and titles; its codes stay."""
    model: ModelName | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.removed is None and not self.fields:
            raise ValueError("give removed, fields or both")
        return self


class Reload(Question):
    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"model": "llada-rec"}]})

    model: ModelName | None = None
    """A name of `GET /v1/models`; null: all."""

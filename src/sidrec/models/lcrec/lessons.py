"""The tuning tasks as texts: what is said, and what has to be answered. An item in them stands for its ID."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Part = str | int
"""Words, or an item."""


@dataclass(frozen=True)
class Lesson:
    """Every part of the answer is learned; nothing of the prompt is."""

    prompt: tuple[Part, ...]
    answer: tuple[Part, ...]


CHOSEN = "A customer chose these items one after the other:"


def asked(history: Sequence[int]) -> tuple[Part, ...]:
    """What a request says; the next item's ID follows at once."""
    return (CHOSEN, *history)


def next_item(items: Sequence[int]) -> Lesson:
    """The items of a customer in order: each is the answer to those before it."""
    return Lesson(asked(items[:1]), tuple(items[1:]))


def title_of_id(item: int, title: str) -> Lesson:
    return Lesson(("What is the title of this item?", item, "Title:"), (title,))


def id_of_title(title: str, item: int) -> Lesson:
    return Lesson(("Which item has this title?", title, "Item:"), (item,))


def id_of_intention(intention: str, item: int) -> Lesson:
    return Lesson(("A customer looks for this:", intention, "Fitting item:"), (item,))


def id_behind_titles(titles: Sequence[str], item: int) -> Lesson:
    told = [part for title in titles for part in (";", title)][1:]  # each title is cut by itself: the newest stays
    return Lesson(("A customer chose items with these titles:", *told, "Next item:"), (item,))


def title_behind_ids(history: Sequence[int], title: str) -> Lesson:
    return Lesson((*asked(history), "Title of the next one:"), (title,))


def intention_of(title: str, text: str) -> str:
    """What somebody who wants the item might say: its own text without its title, or the title where that is all."""
    rest = text.removeprefix(title).strip(" .,;:-")
    return rest or title

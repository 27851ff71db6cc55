"""A generation drawn in the terminal, for somebody who sees one for the first time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sidrec.data.catalog import Catalog
    from sidrec.decoding.drawing import Drawing
    from sidrec.models.id_search import Generation, SearchSettings

N_HISTORY = 5
STYLES = (("Step ", "bold"), ("<- filled now", "green"), ("    1. [", "cyan"), ("         - ", "dim"))


def show(
    generation: Generation, history: Sequence[str], catalog: Catalog, search: SearchSettings | None = None
) -> None:
    """What went in, every step, in colour where a terminal is watching."""
    from rich.console import Console
    from rich.text import Text

    from sidrec.core.plain_text import one_line
    from sidrec.decoding.drawing import draw, tell
    from sidrec.models.id_search import SearchSettings

    search = search or SearchSettings()
    stories = tell(generation.trace, catalog.titles, generation.constraint)
    lines = [*_had(history, catalog), "", *_rules(generation, search), "", *draw(stories, _characters()), ""]
    terminal = Console(highlight=False)
    for line in lines:
        style = next((style for mark, style in STYLES if mark in line), "")
        terminal.print(Text(one_line(line), style=style), soft_wrap=True)


def _had(history: Sequence[str], catalog: Catalog) -> list[str]:
    items = catalog.index_of(history)
    known = [catalog.titles[item] for item in items[items >= 0]]
    older = [f"  ({len(known) - N_HISTORY} older ones)"] if len(known) > N_HISTORY else []
    return ["What the user had, newest last:", *older, *(f"  - {title}" for title in known[-N_HISTORY:])]


def _rules(generation: Generation, search: SearchSettings) -> list[str]:
    n_codes = generation.trace.steps[0].before.codes.shape[-1]
    order = "the surest slot first" if search.order == "adaptive" else search.order.replace("-", " ")
    real = "are never taken" if search.only_real_items else "may be taken, too (only_real_items is off)"
    return [
        f"Every item has an ID of {n_codes} codes. The next item's ID is guessed slot by slot, {order};",
        f"codes that lead to no item {real}. The likeliest candidates go on side by side.",
    ]


def _characters() -> Drawing:
    """Plain bars where the output cannot show blocks."""
    from sidrec.decoding.drawing import Drawing

    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    return Drawing() if unicode else Drawing(bar="#.", parts="")

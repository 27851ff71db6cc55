"""The only room that prints: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sidrec.core.progress import Progress, terminal_progress


def progress() -> Progress:
    """Bars and notes go to standard error, so that standard output stays clean for results."""
    return terminal_progress()


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")


def show_json(value: Mapping[str, Any]) -> None:
    """Exactly one JSON object on one line."""
    say(json.dumps(value, ensure_ascii=False, default=str))


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A readable table; numbers stand right."""
    from rich.console import Console
    from rich.table import Table

    rows = [list(row) for row in rows]
    table = Table(title=title, title_justify="left", header_style="bold")
    for place, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_shown(value) for value in row))
    Console().print(table)


def wrote(path: object, next_step: str) -> None:
    """How every verb ends: what was written, and what to do next."""
    say(f"wrote {path}")
    say(f"next: {next_step}")


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)

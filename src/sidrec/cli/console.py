"""The only room that prints: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from sidrec.core.plain_text import in_json, many_lines, one_line
from sidrec.core.progress import Progress, terminal_progress


def progress() -> Progress:
    """Bars and notes go to standard error, so that standard output stays clean for results."""
    return terminal_progress()


def say(text: str = "") -> None:
    """One line; titles, ids and paths in it are shown and never steer the terminal."""
    sys.stdout.write(one_line(text) + "\n")


def show_text(text: str) -> None:
    """A text of our own, of many lines."""
    sys.stdout.write(many_lines(text))


def complain(text: str) -> None:
    """What went wrong, on standard error."""
    sys.stderr.write(f"sidrec: {many_lines(text)}\n")


def show_json(value: Mapping[str, Any]) -> None:
    """Exactly one JSON object on one line."""
    sys.stdout.write(in_json(json.dumps(value, ensure_ascii=False, default=str)) + "\n")


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A readable table; numbers stand right. Everything in it is text, so that no title is taken for markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    table = Table(title=Text(one_line(title)), title_justify="left", header_style="bold")
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[number], int | float) for row in rows)
        table.add_column(Text(one_line(column)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(value)) for value in row))
    Console().print(table)


def wrote(path: object, next_step: str) -> None:
    """How every verb ends: what was written, and what to do next."""
    say(f"wrote {path}")
    say(f"next: {next_step}")


def command(*words: object) -> str:
    """A command that can be copied into a shell as it stands, whatever its paths are called."""
    return shlex.join(["sidrec", *map(str, words)])


def free(place: Path) -> Path:
    """This place, or where something stands there the next free one: a next command never leads into something."""
    numbered = (place.with_name(f"{place.name}-{number}") for number in count(2))
    return next(chosen for chosen in chain([place], numbered) if not chosen.exists())


def then(step: str) -> None:
    """A step in which the reader has to put something in: what `next:` shows runs as it stands."""
    say(f"then: {step}")


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}" if isinstance(value, float) else one_line(str(value))

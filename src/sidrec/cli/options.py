"""The library speaks of arguments, the command line of options: here the one becomes the other."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from sidrec.core.errors import SidrecError

Command = TyperGroup | TyperCommand
_ALSO_CALLED = {"out": "output", "item_columns": "columns"}


def in_words_of(app: typer.Typer, words: Sequence[str], error: SidrecError) -> str:
    """The message, and behind it those options of the given command that the user would change."""
    names = options_of(command_of(app, words))
    found = [names.get(name) or names.get(_ALSO_CALLED.get(name, "")) for name in error.arguments]
    shown = ", ".join(option for option in found if option)
    return f"{str(error).removesuffix('.')} ({shown})." if shown else str(error)


def command_of(app: typer.Typer, words: Sequence[str]) -> Command:
    """The verb that the words on the command line begin with."""
    command: object = typer.main.get_command(app)
    for word in words:
        if not isinstance(command, TyperGroup) or word not in command.commands:
            break
        command = command.commands[word]
    assert isinstance(command, TyperGroup | TyperCommand)
    return command


def options_of(command: Command) -> dict[str, str]:
    """What a command's parameters are called by the library, and how they are written: `--k-core`, `SOURCE`."""
    return {
        str(param.name).rstrip("_"): param.opts[0] if isinstance(param, TyperOption) else str(param.name).upper()
        for param in command.params
    }

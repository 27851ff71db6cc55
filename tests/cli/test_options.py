"""Errors of the library name no options; the command line adds those that the verb has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperGroup

import sidrec
from sidrec.cli.app import app
from sidrec.cli.options import Command, command_of, in_words_of, options_of
from sidrec.core.errors import InputError, StorageError

SOURCES = Path(sidrec.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")


@pytest.mark.parametrize(
    ("words", "arguments", "expected"),
    [
        (["train", "--data", "x"], ("out",), "no (--out)."),
        (["data", "prepare", "folder"], ("min_rating", "columns"), "no (--min-rating, --columns)."),
        (["data", "prepare"], ("source", "interactions"), "no (SOURCE, --interactions)."),
        (["recommend", "m"], ("out",), "no (--output)."),
        (["tokenize", "e"], ("set",), "no (--set)."),
        (["compare", "a", "b"], ("k",), "no."),
        (["evaluate", "a"], (), "no."),
        ([], ("out",), "no."),
    ],
)
def test_a_verb_names_its_own_options(words, arguments, expected):
    assert in_words_of(app, words, InputError("no.", arguments=arguments)) == expected


def test_the_library_itself_says_nothing_of_options():
    error = StorageError("taken; choose another place.", arguments=("out",))
    assert (str(error), error.arguments) == ("taken; choose another place.", ("out",))


@pytest.mark.slow
def test_no_message_outside_the_command_line_names_an_option():
    found = [f"{file.name}:{line}: {text}" for file, line, text in words_of_the_library() if OPTION.search(text)]
    assert found == []


def test_every_argument_an_error_names_is_an_option_of_some_verb():
    known = {name for command in _verbs(command_of(app, [])) for name in options_of(command)}
    named = [
        name.value
        for file in sorted(SOURCES.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "arguments" and isinstance(node.value, ast.Tuple)
        for name in node.value.elts
        if isinstance(name, ast.Constant)  # a name that was handed on was written out elsewhere
    ]
    assert len(named) > 30
    assert {*named} <= known


def words_of_the_library() -> Iterator[tuple[Path, int, str]]:
    """Every string with a space in it that is no docstring, outside cli/ and the page that is about the options."""
    for file in sorted(SOURCES.rglob("*.py")):
        if "cli" in file.relative_to(SOURCES).parts or file.name == "settings_page.py":
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        loose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in loose else None
            if isinstance(text, str) and " " in text:
                yield file, node.lineno, text


def _verbs(command: Command) -> Iterator[Command]:
    if isinstance(command, TyperGroup):
        for inner in command.commands.values():
            yield from _verbs(inner)
    else:
        yield command


def test_the_verb_is_found_among_the_words():
    assert command_of(app, ["data", "describe", "train"]).name == "describe"
    assert isinstance(command_of(app, ["--help"]), TyperGroup)

"""What verbs have in common: URIs for paths, and `--wait` and `--replace` for those that write."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end of another writer of the same output.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace something else that stands at the output.")]


_ON_THIS_MACHINE = {"benchmark", "report", "reproduce", "demo", "download", "tune"}
"""Verbs whose output is a folder that grows file by file."""


def placed(verb: str, given: Mapping[str, object]) -> dict[str, Any]:
    """The options of a verb, with paths in place of URIs: what lies there is fetched."""
    return {name: _placed(verb, value) for name, value in given.items()}


def _placed(verb: str, value: object) -> object:
    from sidrec.core.places import is_uri

    if isinstance(value, list):
        return [_placed(verb, one) for one in value]
    if not isinstance(value, Path) or not is_uri(value):
        return value
    from sidrec.core.errors import SettingsError
    from sidrec.core.mirroring import local
    from sidrec.core.places import mirrored

    if verb in _ON_THIS_MACHINE:
        words = f"`sidrec {verb}` works in a folder of this machine; give one, and copy it when it is done"
        raise SettingsError(f"{mirrored(value)}: {words}.")
    return local(value)


def reads(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb that takes paths and only reads."""

    @functools.wraps(verb)
    def reading(**given: object) -> None:
        verb(**placed(verb.__name__, given))

    reading.__signature__ = inspect.signature(verb, eval_str=True)  # type: ignore[attr-defined]
    return reading


def writes(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with `--wait` and `--replace` as its last options."""

    @functools.wraps(verb)
    def writing(*, wait: bool, replace: bool, **given: object) -> None:
        from sidrec.core.replacing import replacing

        with ExitStack() as stack:
            stack.enter_context(replacing(replace))
            if wait:
                from sidrec.cli import console
                from sidrec.core.locks import patient

                stack.enter_context(patient(console.complain))
            verb(**placed(verb.__name__, given))

    known = inspect.signature(verb, eval_str=True)
    only = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter("wait", only, default=False, annotation=Wait),
        inspect.Parameter("replace", only, default=False, annotation=Replace),
    ]
    writing.__signature__ = known.replace(parameters=[*known.parameters.values(), *options])  # type: ignore[attr-defined]
    writing.__annotations__ = {**verb.__annotations__, "wait": Wait, "replace": Replace}
    return writing

"""`--wait`, the option of every verb that writes: where another writer is at the output, wait for its end."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated

import typer

Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end of another writer of the same output.")]


def waits(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with `--wait` as its last option."""

    @functools.wraps(verb)
    def patiently(*, wait: bool, **given: object) -> None:
        if not wait:
            verb(**given)
            return
        from sidrec.cli import console
        from sidrec.core.locks import patient

        with patient(console.complain):
            verb(**given)

    known = inspect.signature(verb, eval_str=True)
    option = inspect.Parameter("wait", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Wait)
    patiently.__signature__ = known.replace(parameters=[*known.parameters.values(), option])  # type: ignore[attr-defined]
    patiently.__annotations__ = {**verb.__annotations__, "wait": Wait}
    return patiently

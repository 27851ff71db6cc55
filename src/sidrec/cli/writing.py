"""`--wait` and `--replace`, the options of every verb that writes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import typer

Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end of another writer of the same output.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace something else that stands at the output.")]


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
            verb(**given)

    known = inspect.signature(verb, eval_str=True)
    only = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter("wait", only, default=False, annotation=Wait),
        inspect.Parameter("replace", only, default=False, annotation=Replace),
    ]
    writing.__signature__ = known.replace(parameters=[*known.parameters.values(), *options])  # type: ignore[attr-defined]
    writing.__annotations__ = {**verb.__annotations__, "wait": Wait, "replace": Replace}
    return writing

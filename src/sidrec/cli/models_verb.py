"""`sidrec models`: what can be trained."""

from __future__ import annotations

from typing import Annotated

import typer


def models(json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List the models that can be trained.      Example: sidrec models"""
    from sidrec.cli import console
    from sidrec.models.registry import MODELS

    if json:
        console.show_json({"models": [{"key": r.key, "family": r.family, "summary": r.summary} for r in MODELS]})
        return
    console.show_table("Models", ["key", "family", "what it is"], [(r.key, r.family, r.summary) for r in MODELS])
    console.say("next: sidrec demo")

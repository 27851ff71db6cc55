"""`sidrec models`: what can be trained, and what can be set about it."""

from __future__ import annotations

from typing import Annotated

import typer


def models(
    key: Annotated[str | None, typer.Argument(help="A model, to see its settings.")] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print docs/settings.md: every setting there is.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the models that can be trained, or one model's settings.      Example: sidrec models llada-rec"""
    if markdown:
        from sidrec.cli import console
        from sidrec.reports.settings_page import settings_page

        console.show_text(settings_page())
    elif key is None:
        _list(as_json=json)
    else:
        _describe(key, as_json=json)


def _list(*, as_json: bool) -> None:
    from sidrec.cli import console
    from sidrec.models.registry import models as listed

    rows = listed()
    if as_json:
        console.show_json({"models": [{"key": r.key, "family": r.family, "summary": r.summary} for r in rows]})
        return
    console.show_table("Models", ["key", "family", "what it is"], [(r.key, r.family, r.summary) for r in rows])
    console.say("`sidrec models KEY` shows the settings of one, `sidrec demo` the whole product")
    console.say(f"next: {console.command('models', rows[-1].key)}")


def _describe(key: str, *, as_json: bool) -> None:
    from sidrec.cli import console
    from sidrec.core.settings_table import settings_table
    from sidrec.models.registry import find_model

    row = find_model(key)
    settings = row.settings({}, where=key)
    if as_json:
        facts = {"key": key, "family": row.family, "summary": row.summary}
        console.show_json({**facts, "settings": settings.model_dump(mode="json")})
        return
    lines = [(line.name, str(line.value), line.meaning) for line in settings_table(settings)]
    console.show_table(f"{key}: {row.summary}", ["setting", "default", "meaning"], lines)
    example = f" --set {lines[0][0]}={lines[0][1]}" if lines else ""
    console.then(f"sidrec train --model {key}{example} --data DIR --out DIR")

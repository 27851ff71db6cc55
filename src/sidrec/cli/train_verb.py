"""`sidrec train`: fit a model of the registry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def train(
    data: Annotated[Path, typer.Option("--data", help="Prepared dataset (sidrec data prepare).")],
    out: Annotated[Path, typer.Option("--out", help="Where the model goes.")],
    model: Annotated[
        str | None, typer.Option("--model", help="Key of the model, see `sidrec models`; default llada-rec-plus.")
    ] = None,
    sids: Annotated[
        Path | None, typer.Option("--sids", help="Semantic IDs (sidrec tokenize); made on the fly when left out.")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", help="TOML file, or the name of a bundled recipe such as demo/llada-rec.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="A setting, as name=value; may be given several times.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a cut-off training; an error where there is none.")
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Throw a cut-off training away and begin anew.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a model.      Example: sidrec train --data runs/data --out runs/model"""
    from sidrec.cli import console
    from sidrec.models.model_files import leads
    from sidrec.pipeline import train as stage
    from sidrec.pipeline.recipes import read_recipe

    chosen = read_recipe(recipe, model, assignments or ())
    unfinished = stage.check_one_way(resume, restart)
    done = stage.train(
        data, out, chosen, sids=sids, unfinished=unfinished, adopt_search=True, progress=console.progress()
    )
    if not leads():
        return
    facts = {"model": done.model.key, "out": str(out), "skipped": done.skipped, **done.model.training_summary()}
    if json:
        console.show_json(facts)
        return
    console.show_table(f"{done.model.key}", ["figure", "value"], list(facts.items()))
    console.wrote(out, console.command("evaluate", out, "--split", "test"))

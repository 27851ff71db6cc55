"""`sidrec train`: fit a model of the registry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidrec.cli.cluster_options import Address, On, Workers, on_ray


def train(
    data: Annotated[Path, typer.Option("--data", help="Prepared dataset (sidrec data prepare).")],
    out: Annotated[Path, typer.Option("--out", help="Where the model goes.")],
    model: Annotated[
        str | None, typer.Option("--model", help="Key of the model, see `sidrec models`; default llada-rec-plus.")
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Go on from this trained model, with its settings: last week's, say."),
    ] = None,
    sids: Annotated[
        Path | None,
        typer.Option(
            "--sids", help="Semantic IDs (sidrec tokenize), or your own: item_id,c1,c2,... in CSV or Parquet."
        ),
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
    on: On = None,
    address: Address = None,
    workers: Workers = None,
    min_workers: Annotated[
        int | None, typer.Option("--min-workers", min=1, help="Go on with as few as these when workers are lost.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train a model.      Example: sidrec train --data runs/data --out runs/model

    More epochs: the same command with --set training.epochs=40; a finished training goes on.
    On a cluster: sidrec train --data runs/data --out runs/model --on ray --workers 4
    Next week's data: sidrec train --from runs/model --data runs/data2 --out runs/model2
    """
    from sidrec.cli import console
    from sidrec.models.floor import BELOW
    from sidrec.pipeline import train as stage
    from sidrec.pipeline.recipes import read_recipe, read_successor
    from sidrec.training.distributed import leads

    given = assignments or ()
    chosen = read_recipe(recipe, model, given) if from_ is None else read_successor(from_, recipe, model, given)
    unfinished = stage.check_one_way(resume, restart)
    if on_ray(on, address, workers if workers is not None else min_workers):
        from sidrec.cluster.training import Crew, Work, train_on_ray

        work = Work(data, out, chosen, sids, unfinished, adopt_search=True)
        done = train_on_ray(work, Crew(workers or min_workers or 1, min_workers, address), console.progress())
    else:
        done = stage.train(
            data, out, chosen, sids=sids, unfinished=unfinished, adopt_search=True, progress=console.progress()
        )
    if not leads():
        return
    begun = {} if from_ is None else {"from": str(from_)}
    facts: dict[str, Any] = {
        "model": done.model.key,
        "out": str(out),
        "skipped": done.skipped,
        **begun,
        **done.model.training_summary(),
    }
    if json:
        console.show_json(facts)
        return
    below = facts.pop(BELOW, None)
    console.show_table(f"{done.model.key}", ["figure", "value"], list(facts.items()))
    if below is not None:
        console.say(f"WARNING: {below}")
    console.wrote(out, console.command("evaluate", out, "--split", "test"))

"""`sidrec tune`: search for better settings of a model, on the validation part."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sidrec.cli.cluster_options import Address, On


def tune(
    data: Annotated[Path, typer.Option("--data", help="Prepared dataset (sidrec data prepare).")],
    out: Annotated[Path, typer.Option("--out", help="Where trials are kept; those that are there count.")],
    trials: Annotated[int, typer.Option("--trials", min=1, help="How many there are in the end.")] = 20,
    model: Annotated[
        str | None, typer.Option("--model", help="Key of the model, see `sidrec models`; default llada-rec-plus.")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", help="Where the search begins: a TOML file or a bundled recipe.")
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of all trials, as name=value; repeatable.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", help="What is tried, as d_model=[32,64], instead of the model's own space; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the choice of trials.")] = 0,
    on: On = None,
    address: Address = None,
    processes: Annotated[int | None, typer.Option("--processes", min=1, help="With Ray: at most this many.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Try settings of a model.      Example: sidrec tune --model sasrec-ce --data runs/data --out runs/tuned

    Stopped or killed, the same command goes on. The same command in a second terminal shares the work.
    """
    from sidrec import verbs
    from sidrec.cli import console

    found = verbs.tune(
        data,
        out,
        model=model,
        recipe=recipe,
        settings=assignments or (),
        trials=trials,
        vary=vary or (),
        seed=seed,
        on=on,
        address=address,
        processes=processes,
        progress=console.progress(),
    )
    if json:
        console.show_json(found.as_dict())
        return
    best = found.best
    console.say(
        f"{found.search.key}: {len(found.trials)} trials, {found.count('done')} done, {found.count('pruned')} pruned, "
        f"{found.count('failed')} failed, {found.count('running')} still running elsewhere"
    )
    console.say(f"best: {best.line()}")
    for name, share in list(found.importances.items())[:3]:
        console.say(f"mattered: {name} {share:.0%}")
    then = console.free(out.with_name(f"{out.name}-model"))
    console.wrote(out, console.command("train", "--recipe", out / "best.toml", "--data", data, "--out", then))

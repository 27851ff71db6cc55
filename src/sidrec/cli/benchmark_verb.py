"""`sidrec benchmark`: models x data sets x seeds, by a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidrec.cli.cluster_options import Address, On


def benchmark(
    plan: Annotated[Path, typer.Argument(help="A plan file, or the name of one in recipes/experiments: smoke.")],
    out: Annotated[Path, typer.Option("--out", help="Where everything goes; finished cells there are kept.")],
    scale: Annotated[str | None, typer.Option("--scale", help="tiny, small or paper, instead of the plan's.")] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", help="For example 0,1,2, instead of the plan's.")] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="Budget per model, instead of the plan's.")] = None,
    minutes: Annotated[float | None, typer.Option("--minutes", help="Budget per model in minutes.")] = None,
    section: Annotated[list[str] | None, typer.Option("--section", help="Only this section; repeatable.")] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", help="NAME=PATH of a data set, also one of your own; repeatable.")
    ] = None,
    processes: Annotated[int | None, typer.Option("--processes", help="At most this many at a time.")] = None,
    on: On = None,
    address: Address = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run a plan.      Example: sidrec benchmark recipes/experiments/smoke.toml --out runs/smoke"""
    from sidrec.cli import console
    from sidrec.cluster.session import wants_ray
    from sidrec.pipeline.benchmark.plan import only_sections, parse_data, read_plan
    from sidrec.pipeline.benchmark.runner import benchmark as run

    budget = {name: value for name, value in (("epochs", epochs), ("minutes", minutes)) if value is not None}
    given: dict[str, Any] = {"scale": scale, "seeds": numbers(seeds), "processes": processes, "budget": budget or None}
    changes = {name: value for name, value in given.items() if value is not None}
    chosen = read_plan(plan, changes, parse_data(data or []))
    if section:
        chosen = only_sections(chosen, section)
    if budget:
        chosen.refuse_idle_budget()
    engage = None
    if wants_ray(on, address):
        from sidrec.cluster.experiments import on_ray

        engage = on_ray(address, at_most=processes)
    result = run(chosen, out, progress=console.progress(), engage=engage)
    if json:
        console.show_json(result.as_dict())
    else:
        counts = result.as_dict()
        console.say(
            f"{chosen.title}: {counts['cells']} cells, {counts['done']} done, {counts['skipped']} already there, "
            f"{counts['failed']} failed; {result.budget}; {result.seconds:.0f} s"
        )
        for record in result.failed:
            console.say(f"failed: {record.name}: {record.message}")
        console.wrote(out, console.command("report", out, "--out", console.free(out.with_name(out.name + "-report"))))
    if result.failed:
        raise typer.Exit(1)


def numbers(text: str | None) -> list[int] | None:
    """`0,1,2` as numbers."""
    from sidrec.core.errors import SettingsError

    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"--seeds {text}: write numbers with commas between, for example --seeds 0,1,2") from None

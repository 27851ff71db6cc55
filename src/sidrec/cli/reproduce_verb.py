"""`sidrec reproduce`: a committed experiment in one go, beside the figures it should give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sidrec.reports.reproduce import Reproduction


def reproduce(
    name: Annotated[str, typer.Argument(help="demo, scientific or beauty.")],
    out: Annotated[Path, typer.Option("--out", help="Where everything goes; finished cells there are kept.")],
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the data set, or the folder that holds it.")
    ] = None,
    scale: Annotated[str | None, typer.Option("--scale", help="tiny, small or paper, instead of the plan's.")] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", help="For example 0,1,2, instead of the plan's.")] = None,
    section: Annotated[list[str] | None, typer.Option("--section", help="Only this section; repeatable.")] = None,
    processes: Annotated[int | None, typer.Option("--processes", help="At most this many at a time.")] = None,
    write: Annotated[
        Path | None, typer.Option("--write", help="Also keep the figures found, as a file of expected ones.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run plan and report and compare.      Example: sidrec reproduce scientific --data data --out runs/scientific"""
    from sidrec.cli import console
    from sidrec.cli.benchmark_verb import numbers
    from sidrec.core.storage import storage_errors
    from sidrec.reports.reproduce import reproduce as run

    given: dict[str, Any] = {"scale": scale, "seeds": numbers(seeds), "processes": processes}
    changes = {key: value for key, value in given.items() if value is not None}
    found = run(name, out, data=data, sections=section or (), changes=changes, progress=console.progress())
    if write is not None:
        with storage_errors(write):
            write.write_text(found.as_expected(), encoding="utf-8")
    if json:
        console.show_json(found.as_dict())
    else:
        _show(found)
        console.say(f"wrote {out}")
        console.then(f"open {found.report.page} in a browser")
    if not found.agrees:
        raise typer.Exit(1)


def _show(found: Reproduction) -> None:
    from sidrec.cli import console

    rows = [
        (
            *(one.section, one.row, one.metric, one.expected),
            "not measured" if one.found is None else f"{one.found:.4f}",
            f"{one.allowed:.4f}",
            "agrees" if one.agrees else "DIFFERS",
        )
        for one in found.checks
    ]
    columns = ["section", "row", "metric", "expected", "found", "may differ by", "verdict"]
    if rows:
        console.show_table(found.plan.title, columns, rows)
        agree = sum(one.agrees for one in found.checks)
        console.say(f"{agree} of {len(rows)} figures agree within the spread of seeds.")
    else:
        console.say(f"no expected figures are committed for these sections at scale {found.plan.scale}.")
    for record in found.failed:
        console.say(f"failed: {record.name}: {record.message}")

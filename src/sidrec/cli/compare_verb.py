"""`sidrec compare`: which of several evaluated models is really better."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Directories written by `sidrec evaluate ... --out`.")],
    metric: Annotated[list[str] | None, typer.Option("--metric", help="For example ndcg@10; repeatable.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say which differences between runs are real.      Example: sidrec compare runs/eval-a runs/eval-b"""
    from sidrec.cli import console
    from sidrec.evaluation.compare import compare as compare_runs

    found = compare_runs(*runs, metrics=metric)
    if json:
        console.show_json(found.as_dict())
        return
    pairs = dict.fromkeys((row.first, row.second, row.users) for row in found.differences)
    for first, second, users in pairs:
        rows = [
            (
                *(row.metric, row.first_value, row.second_value, row.difference),
                *(f"{row.low:+.4f} to {row.high:+.4f}", f"{row.p_adjusted:.2g}", row.verdict),
            )
            for row in found.differences
            if (row.first, row.second, row.users) == (first, second, users)
        ]
        title = f"1: {first}, 2: {second}; {users:,} users, paired"
        console.show_table(title, ["metric", "1", "2", "2 - 1", "95 % interval", "p", "verdict"], rows)
    console.say("p: paired t-test after Holm's correction; interval: paired bootstrap; better means that both agree.")

"""`sidrec report`: benchmarks as a page, Markdown and CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[list[Path], typer.Argument(help="Directories written by `sidrec benchmark`.")],
    out: Annotated[Path, typer.Option("--out", help="Where the report goes.")],
    examples: Annotated[int, typer.Option("--examples", min=0, help="Users shown with their lists; 0: none.")] = 3,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what benchmarks found.      Example: sidrec report runs/smoke --out runs/smoke-report"""
    from sidrec.cli import console
    from sidrec.reports.build import build_report

    found = build_report(runs, out, console.progress(), n_examples=examples)
    sections = {summary.runs.name: summary.ranked(summary.runs.judge) for summary in found.sections}
    if json:
        console.show_json({"out": str(out), "best_first": sections, "problems": found.problems})
        return
    rows = [(name, *([*order, "-", "-"][:2])) for name, order in sections.items()]
    console.show_table(found.title, ["section", "best", "second"], rows)
    for problem in found.problems:
        console.say(f"missing: {problem}")
    console.say(f"wrote {out}")
    console.then(f"open {found.page} in a browser")

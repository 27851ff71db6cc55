"""The command line: one verb per file, each a thin skin over the library."""

from __future__ import annotations

from typing import Annotated

import typer

from sidrec.cli import (
    benchmark_verb,
    compare_verb,
    data_verbs,
    demo_verb,
    embed_verb,
    evaluate_verb,
    export_verb,
    items_verbs,
    models_verb,
    recommend_verb,
    report_verb,
    reproduce_verb,
    serve_verb,
    tokenize_verb,
    train_verb,
    tune_verb,
)
from sidrec.cli.main import main
from sidrec.cli.writing import reads, writes

__all__ = ["app", "main"]

app = typer.Typer(
    name="sidrec",
    help="Generative recommendation with semantic IDs: data frames in, real item ids out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from sidrec import __version__
        from sidrec.cli import console

        console.say(f"sidrec {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Options of the command line itself."""


app.command("demo")(writes(demo_verb.demo))
app.command("models")(models_verb.models)
app.add_typer(data_verbs.app, name="data")
app.command("embed")(writes(embed_verb.embed))
app.command("tokenize")(writes(tokenize_verb.tokenize))
app.command("evaluate")(writes(evaluate_verb.evaluate))
app.command("compare")(reads(compare_verb.compare))
app.add_typer(items_verbs.app, name="items")
app.command("train")(writes(train_verb.train))
app.command("tune")(reads(tune_verb.tune))
app.command("recommend")(writes(recommend_verb.recommend))
app.command("serve")(serve_verb.serve)
app.command("export")(writes(export_verb.export))
app.command("benchmark")(writes(benchmark_verb.benchmark))
app.command("report")(writes(report_verb.report))
app.command("reproduce")(writes(reproduce_verb.reproduce))

"""`sidrec data ...`: bring data in and look at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sidrec.cli.writing import reads, writes

app = typer.Typer(help="Bring data in and look at it.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
@writes
def prepare(
    source: Annotated[Path | None, typer.Argument(help="Folder or file; its format is detected.")] = None,
    out: Annotated[Path, typer.Option(help="Directory to write.")] = ...,  # type: ignore[assignment]
    interactions: Annotated[Path | None, typer.Option(help="Interactions table, instead of SOURCE.")] = None,
    items: Annotated[Path | None, typer.Option(help="Items table that goes with --interactions.")] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Events that a service kept, instead of SOURCE: sqlite:///path or postgresql://..."),
    ] = None,
    format: Annotated[str | None, typer.Option(help="Name the format instead of detecting it.")] = None,
    columns: Annotated[str, typer.Option(help="Your column names: user_id=reviewerID,item_id=asin.")] = "",
    interaction_columns: Annotated[str, typer.Option(help="The same, of interactions only: item_id=sku.")] = "",
    item_columns: Annotated[str, typer.Option(help="The same, of items only: item_id=Artikel,title=Name.")] = "",
    k_core: Annotated[int, typer.Option(help="Least interactions per user and item; 0 keeps all.")] = 0,
    split: Annotated[str, typer.Option(help="leave-one-out or global-time.")] = "leave-one-out",
    duplicates: Annotated[str, typer.Option(help="Repeated (user, item) pairs: keep, first or last.")] = "keep",
    min_rating: Annotated[float | None, typer.Option(help="Drop interactions rated lower.")] = None,
    max_history: Annotated[int | None, typer.Option(help="Keep each user's newest N interactions.")] = None,
    unknown_items: Annotated[str, typer.Option(help="Items missing in the table: error, drop or keep.")] = "error",
    short_users: Annotated[str, typer.Option(help="Users too short to split: drop, error or train.")] = "drop",
    keep_unused_items: Annotated[bool, typer.Option(help="Keep items nobody interacted with.")] = False,
    set: Annotated[list[str] | None, typer.Option(help="Further settings, e.g. test_share=0.2.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Turn interactions and items into a dataset.      Example: sidrec data prepare reviews/ --out runs/data"""
    from sidrec.cli import console
    from sidrec.core.settings import parse_assignments
    from sidrec.data.build_dataset import PrepareSettings
    from sidrec.data.prepare import find_source
    from sidrec.data.prepare import prepare as run
    from sidrec.data.readers.columns import Columns, parse_columns

    chosen = {
        "k_core": k_core,
        "split": split,
        "duplicates": duplicates,
        "min_rating": min_rating,
        "max_history": max_history,
        "unknown_items": unknown_items,
        "short_users": short_users,
        "keep_unused_items": keep_unused_items,
    } | parse_assignments(set or [])
    settings = PrepareSettings.parse(chosen, owner="data prepare", where="data prepare")
    options = {"columns": columns, "interaction_columns": interaction_columns, "item_columns": item_columns}
    names = Columns.of(*(parse_columns(text, name) for name, text in options.items()))
    with _interactions(source, interactions, store) as events:
        found = find_source(source, events, items, columns=names, format=format)
        done = run(found, out, settings, names, console.progress())
    if json:
        console.show_json(
            {
                **done.statistics,
                "left_out": done.left_out,
                "notes": done.notes,
                "skipped": done.skipped,
                "path": str(out),
            }
        )
        return
    _show(str(out), done.statistics)
    for note in done.notes:
        console.say(f"note: {note}")
    for reason, count in done.left_out.items():
        if count and reason != "rows_read":
            console.say(f"left out, {reason.replace('_', ' ')}: {count:,}")
    console.wrote(out, console.command("embed", out, "--out", console.free(out.with_name(out.name + "-embeddings"))))


@contextmanager
def _interactions(source: Path | None, interactions: Path | None, store: str | None) -> Iterator[Path | None]:
    """The file of interactions, or what a service's store holds now."""
    if store is None:
        yield interactions
        return
    from sidrec.core.errors import SettingsError
    from sidrec.data.readers.store import snapshot

    if source is not None or interactions is not None:
        raise SettingsError("--store comes instead of SOURCE and --interactions; give one of them.")
    with snapshot(store) as events:
        yield events


@app.command()
@reads
def describe(
    directory: Annotated[Path, typer.Argument(help="A dataset made by `sidrec data prepare`.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the figures of a dataset.      Example: sidrec data describe runs/data"""
    from sidrec.cli import console
    from sidrec.core.artifacts import opened
    from sidrec.core.checked_files import read_json
    from sidrec.data.schema import STATISTICS_FILE
    from sidrec.data.statistics import Statistics

    with opened(directory, "dataset") as artifact:
        statistics = read_json(artifact.file(STATISTICS_FILE), Statistics).as_dict()
    if json:
        console.show_json(statistics)
        return
    _show(str(directory), statistics)
    beside = console.free(directory.with_name(directory.name + "-embeddings"))
    console.say(f"next: {console.command('embed', directory, '--out', beside)}")


def _show(title: str, statistics: Mapping[str, Any]) -> None:
    from sidrec.cli import console

    rows = [(name.replace("_", " "), value) for name, value in statistics.items() if name != "text_fields"]
    rows += [(f"items with {name}", share) for name, share in statistics["text_fields"].items()]
    console.show_table(title, ["figure", "value"], rows)


@app.command()
@writes
def download(
    name: Annotated[str, typer.Argument(help="amazon-2023/<category>, for example amazon-2023/Video_Games.")],
    out: Annotated[Path, typer.Option(help="Directory to write.")],
    raw: Annotated[bool, typer.Option("--raw", help="All raw reviews instead of the 5-core files.")] = False,
    base_url: Annotated[str | None, typer.Option(help="Another server with the same paths.")] = None,
    sha256: Annotated[list[str] | None, typer.Option(help="Expected hash: FILE=HEX; may be repeated.")] = None,
) -> None:
    """Fetch a public data set, or go on with it.      Example: sidrec data download amazon-2023/Video_Games --out x"""
    from sidrec.cli import console
    from sidrec.core.errors import SettingsError
    from sidrec.data.download import AMAZON_2023, amazon_files
    from sidrec.data.download import download as run

    hashes = dict(text.split("=", 1) for text in sha256 or [] if "=" in text)
    if len(hashes) != len(sha256 or []):
        raise SettingsError("--sha256: write it as FILE=HEX, once per file.")
    for file in run(
        amazon_files(name, raw=raw), out, base_url=base_url or AMAZON_2023, sha256=hashes, progress=console.progress()
    ):
        console.say(f"have {file}")
    beside = console.free(out.with_name(out.name + "-data"))
    console.wrote(out, console.command("data", "prepare", out, "--out", beside))

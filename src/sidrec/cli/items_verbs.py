"""`sidrec items ...`: the catalogue of a trained model changes, without training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidrec.cli.writing import writes

if TYPE_CHECKING:
    from sidrec.pipeline.items import Change

app = typer.Typer(help="Change the items of a trained model.", no_args_is_help=True, rich_markup_mode=None)

Model = Annotated[Path, typer.Argument(help="Directory of a saved model.")]
Table = Annotated[Path, typer.Option("--items", help="CSV, Parquet or JSON lines with a column item_id.")]
Out = Annotated[Path | None, typer.Option("--out", help="Write the changed model here; default in place.")]
Columns = Annotated[str, typer.Option("--columns", help="Your column names: item_id=sku,title=name.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command()
@writes
def add(
    model: Model,
    items: Table,
    vectors: Annotated[
        Path | None, typer.Option("--vectors", help="Vectors of the new items, where the old ones' were your own.")
    ] = None,
    out: Out = None,
    columns: Columns = "",
    json: Json = False,
) -> None:
    """Recommend new items from now on.      Example: sidrec items add runs/model --items new.csv"""
    _changed("add", model, items, out, columns, vectors=vectors, as_json=json)


@app.command()
@writes
def remove(model: Model, items: Table, out: Out = None, columns: Columns = "", json: Json = False) -> None:
    """Never recommend items again.      Example: sidrec items remove runs/model --items sold_out.csv"""
    _changed("remove", model, items, out, columns, as_json=json)


@app.command()
@writes
def restore(model: Model, items: Table, out: Out = None, columns: Columns = "", json: Json = False) -> None:
    """Recommend removed items again.      Example: sidrec items restore runs/model --items back.csv"""
    _changed("restore", model, items, out, columns, as_json=json)


@app.command()
@writes
def update(model: Model, items: Table, out: Out = None, columns: Columns = "", json: Json = False) -> None:
    """Change price, stock, title or the like.      Example: sidrec items update runs/model --items prices.csv"""
    _changed("update", model, items, out, columns, as_json=json)


_DONE = {"add": "added", "remove": "removed", "restore": "restored", "update": "changed"}


def _changed(
    change: Change,
    model: Path,
    items: Path,
    out: Path | None,
    columns: str,
    *,
    vectors: Path | None = None,
    as_json: bool,
) -> None:
    from sidrec.cli import console
    from sidrec.data.readers.columns import parse_columns
    from sidrec.pipeline.items import change_items

    done = change_items(model, change, items, out=out, vectors=vectors, columns=parse_columns(columns))
    if as_json:
        console.show_json(done.as_dict())
        return
    console.say(
        f"{len(done.item_ids):,} items {_DONE[change]}; the catalogue has {done.catalog:,}, {done.removed:,} of them "
        "never recommended"
    )
    if not done.item_ids:
        console.say(f"{items}: names no items" if out is None else f"{items}: names no items; wrote {out}")
        return
    first = done.item_ids[0]
    shown = f'"{first}"' if "," in first else first
    console.wrote(done.out, console.command("recommend", done.out, "--history", shown))

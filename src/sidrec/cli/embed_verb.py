"""`sidrec embed`: one vector per item."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sidrec.cli.cluster_options import Address, On, Workers, on_ray


def embed(
    data: Annotated[Path, typer.Argument(help="A dataset made by `sidrec data prepare`.")],
    out: Annotated[Path, typer.Option(help="Where the embeddings go.")],
    encoder: Annotated[
        str | None,
        typer.Option(help="minilm (default), sentence-t5-base, tfidf, a sentence-transformers name or path."),
    ] = None,
    fields: Annotated[str | None, typer.Option(help="Text fields, as title,brand; default all.")] = None,
    pca: Annotated[int | None, typer.Option(help="Keep this many principal axes.")] = None,
    whiten: Annotated[bool, typer.Option("--whiten", help="Scale the principal axes to unit variance.")] = False,
    vectors: Annotated[
        Path | None, typer.Option(help="Your own vectors: .npy, .safetensors, or a table of item_id and numbers.")
    ] = None,
    from_model: Annotated[Path | None, typer.Option(help="Take the item vectors of a trained model.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting, as missing=zero.")] = None,
    on: On = None,
    address: Address = None,
    workers: Workers = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Give every item a vector.      Example: sidrec embed runs/data --out runs/emb --pca 128 --whiten"""
    import time

    from sidrec.cli import console
    from sidrec.core.settings import merge, parse_assignments
    from sidrec.verbs import embed as embed_items

    named = [name.strip() for name in fields.split(",")] if fields else None
    options = {"encoder": encoder, "fields": named, "pca": pca, "whiten": whiten or None, "vectors": vectors}
    given = {name: value for name, value in options.items() if value is not None}
    values = merge(given, parse_assignments(set_ or []))
    elsewhere = None
    if on_ray(on, address, workers):
        from sidrec.cluster.batch import Actors

        elsewhere = Actors(workers, address).encode
    start, bars = time.monotonic(), console.progress()
    embeddings = embed_items(data, from_model=from_model, out=out, progress=bars, elsewhere=elsewhere, **values)
    facts: dict[str, Any] = {
        "items": embeddings.n_items,
        "width": embeddings.width,
        "source": embeddings.source,
        "items_without_text": int(embeddings.missing_text.sum()),
        "seconds": round(time.monotonic() - start, 3),
    }
    if json:
        console.show_json({**facts, "out": str(out)})
        return
    console.show_table("Embeddings", ["figure", "value"], list(facts.items()))
    console.wrote(out, console.command("tokenize", out, "--data", data, "--out", console.free(out.parent / "ids")))

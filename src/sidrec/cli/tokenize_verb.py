"""`sidrec tokenize`: a semantic ID for every item."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

_SHOWN = {
    "items": "items",
    "unique_ids": "different IDs",
    "collisions_before": "sharing an ID: nearest codes",
    "collisions_after": "sharing an ID: now",
    "identical_vectors": "items with the vector of another",
    "used_codes": "codes used",
    "codes": "codes",
    "reconstruction_error": "reconstruction error",
    "neighbour_agreement": "neighbour agreement",
    "seconds": "seconds",
}


def tokenize(
    embeddings: Annotated[Path, typer.Argument(help="Embeddings made by `sidrec embed`.")],
    out: Annotated[Path, typer.Option(help="Where the semantic IDs go.")],
    tokenizer: Annotated[str, typer.Option(help="multi-head-vqvae, rq-vae, rq-kmeans or opq.")] = "multi-head-vqvae",
    collisions: Annotated[
        str, typer.Option(help="unique (an ID of its own for every item), extra-code, sinkhorn or keep.")
    ] = "unique",
    collaborative: Annotated[
        Path | None,
        typer.Option(help="Vectors of a trained model (sidrec embed --from-model), with --set inputs=both."),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The dataset, for titles in the report.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting, as codebook_size=256.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Give every item its semantic ID.      Example: sidrec tokenize runs/emb --out runs/ids"""
    from sidrec.cli import console
    from sidrec.core.settings import parse_assignments
    from sidrec.embeddings.item_embeddings import ItemEmbeddings
    from sidrec.verbs import tokenize as give_ids

    items = ItemEmbeddings.load(embeddings)
    titles = None if data is None else _titles(data, items.item_ids)
    ways: dict[str, Any] = {"tokenizer": tokenizer, "collisions": collisions, "titles": titles, "out": out}
    ways["collaborative"] = collaborative
    report = give_ids(items, progress=console.progress(), **ways, **parse_assignments(set_ or [])).report
    if json:
        console.show_json({**report, "out": str(out)})
        return
    console.show_table("Semantic IDs", ["figure", "value"], [(name, report[key]) for key, name in _SHOWN.items()])
    console.say(f"report: {out / 'report.html'}")
    console.say(f"wrote {out}")
    rest = ("--sids", out, "--out", console.free(out.parent / "model"))
    if data is None:
        console.then(f"{console.command('train', *rest)} --data DIR, where DIR is the prepared dataset of these items")
    else:
        console.say(f"next: {console.command('train', '--data', data, *rest)}")


def _titles(data: Path, item_ids: list[str]) -> list[str]:
    """Titles in the order of the embeddings; the id where the dataset has no such item."""
    from sidrec.data.dataset import Dataset

    catalog = Dataset.load(data).catalog
    rows = catalog.index_of(item_ids)
    return [catalog.titles[row] if row >= 0 else item_id for row, item_id in zip(rows, item_ids, strict=True)]

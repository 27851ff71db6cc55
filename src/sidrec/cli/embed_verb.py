"""`sidrec embed`: one vector per item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sidrec.embeddings.embed import EmbeddingSettings
    from sidrec.embeddings.given_vectors import GivenVectors


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
    vectors: Annotated[Path | None, typer.Option(help="Your own vectors: .npy, .parquet or .safetensors.")] = None,
    from_model: Annotated[Path | None, typer.Option(help="Take the item vectors of a trained model.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting, as missing=zero.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Give every item a vector.      Example: sidrec embed runs/data --out runs/emb --pca 128 --whiten"""
    import time

    from sidrec.cli import console
    from sidrec.data.dataset import Dataset
    from sidrec.embeddings.embed import embed_catalog

    named = [name.strip() for name in fields.split(",")] if fields else None
    options = {"encoder": encoder, "fields": named, "pca": pca, "whiten": whiten or None, "vectors": vectors}
    settings = _settings({name: value for name, value in options.items() if value is not None}, set_ or [], from_model)
    given = None if from_model is None else _model_vectors(from_model)
    start = time.monotonic()
    embeddings = embed_catalog(Dataset.load(data).catalog, settings, console.progress(), out, given)
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
    console.wrote(out, next_step=f"sidrec tokenize {out} --out {out.parent / 'ids'}")


def _settings(options: dict[str, Any], assignments: list[str], from_model: Path | None) -> EmbeddingSettings:
    """Options and --set as one; vectors from a file or a model stand in the encoder's place."""
    from sidrec.core.errors import SettingsError
    from sidrec.core.settings import merge, parse_assignments
    from sidrec.embeddings.embed import EmbeddingSettings
    from sidrec.embeddings.encoders import GIVEN

    values = merge(options, parse_assignments(assignments))
    if from_model is not None and ("encoder" in values or "vectors" in values):
        raise SettingsError("--from-model comes instead of --encoder and --vectors; give only one of them.")
    if from_model is not None or "vectors" in values:
        values.setdefault("encoder", GIVEN)
    return EmbeddingSettings.parse(values, owner="embed", where="sidrec embed")


def _model_vectors(path: Path) -> GivenVectors:
    from sidrec.core.errors import InputError
    from sidrec.embeddings.given_vectors import GivenVectors
    from sidrec.models.capabilities import HasItemVectors
    from sidrec.models.registry import load_model

    model = load_model(path)
    if not isinstance(model, HasItemVectors):
        raise InputError(f"{path}: {model.key} has no item vectors; use an item-ID model such as sasrec.")
    return GivenVectors(model.item_vectors(), f"model {model.key}", model.catalog.item_ids.to_list())

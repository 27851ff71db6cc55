"""Content instead of names: what settings lead to on this disk, and what a model is, whatever it was made from."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sidrec.core.artifacts import Origin, open_artifact
from sidrec.core.errors import InputError
from sidrec.core.storage import sha256_of, sha256_of_folder
from sidrec.data.schema import ITEM_ID
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.encoders import identity_of
from sidrec.models.ingredients import is_saved
from sidrec.models.model_files import CATALOG_FILE, COUNT

if TYPE_CHECKING:
    from sidrec.models.base import Recommender

PREFIX = "embedding."


def named_content(embedding: EmbeddingSettings, prefix: str = PREFIX) -> dict[str, str]:
    """Hashes of the files and directories that the settings name: other bytes under the same name are other vectors."""
    found = {}
    if embedding.vectors is not None:
        if not embedding.vectors.is_file():
            raise InputError(f"{embedding.vectors}: no such file of vectors.")
        found["vectors"] = sha256_of(embedding.vectors)
    if embedding.from_model is not None and is_saved(embedding.from_model):
        found["from_model"] = open_artifact(Path(embedding.from_model), "model").content
    if identity_of(embedding.encoder) != embedding.encoder:
        found["encoder"] = identity_of(embedding.encoder)
    return {prefix + name: value for name, value in found.items()}


def given_content(embedding: EmbeddingSettings | None, prefix: str = PREFIX) -> dict[str, str]:
    """The same for a model that takes the IDs of an earlier one: only a file of own vectors may be read again."""
    file = None if embedding is None else embedding.vectors
    return {} if file is None or not file.is_file() else {f"{prefix}vectors": sha256_of(file)}


def content_of(model: Recommender) -> str:
    """A hash of all that decides a model's answers: weights, catalogue, IDs, settings, and how it searches."""
    facts = {"model": model.key, "settings": model.settings.method_values(), "asked": model.asked_by()}
    return Origin("content", {**facts, "files": _hash_of_state(model)}).fingerprint


def learned_content(model: Recommender) -> str:
    """A hash of all that a successor takes over: weights, IDs, which items there are; not their prices or titles."""
    facts = {"model": model.key, "settings": model.settings.method_values()}
    return Origin("content", {**facts, "files": _hash_of_state(model, facts=False)}).fingerprint


def _hash_of_state(model: Recommender, *, facts: bool = True) -> str:
    with tempfile.TemporaryDirectory() as folder:
        model.write_state(Path(folder))
        if not facts:
            catalog = Path(folder) / CATALOG_FILE
            pl.read_parquet(catalog).select(ITEM_ID, COUNT).write_parquet(catalog)
        return sha256_of_folder(Path(folder))

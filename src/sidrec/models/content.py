"""Content instead of names: what settings lead to on this disk, and what a model is, whatever it was made from."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sidrec.core.artifacts import Origin, open_artifact
from sidrec.core.errors import InputError
from sidrec.core.storage import sha256_of, sha256_of_folder
from sidrec.embeddings.embed import EmbeddingSettings
from sidrec.embeddings.encoders import identity_of
from sidrec.models.ingredients import is_saved

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


def content_of(model: Recommender) -> str:
    """A hash of all that decides a model's answers: weights, catalogue, IDs, settings, and how it searches."""
    with tempfile.TemporaryDirectory() as folder:
        model.write_state(Path(folder))
        files = sha256_of_folder(Path(folder))
    facts = {"model": model.key, "settings": model.settings.method_values(), "asked": model.asked_by(), "files": files}
    return Origin("content", facts).fingerprint

"""Names become encoders through one literal table; any other name is a sentence-transformers model or a directory."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sidrec.core.errors import SettingsError
from sidrec.core.storage import sha256_of_folder
from sidrec.embeddings.base import Encoder
from sidrec.embeddings.sentence_encoder import SentenceEncoder, SentenceOptions, bundled_minilm, download
from sidrec.embeddings.tfidf import TfidfEncoder

GIVEN = "given"
"""Not an encoder: the user's own vectors, or those of a trained model."""


@dataclass(frozen=True)
class EncoderRow:
    key: str
    summary: str
    make: Callable[[SentenceOptions], Encoder]


ENCODERS: tuple[EncoderRow, ...] = (
    EncoderRow(
        "minilm", "MiniLM, weights installed with the package", lambda how: SentenceEncoder(bundled_minilm(), how)
    ),
    EncoderRow(
        "sentence-t5-base",
        "the paper's encoder, fetched from the hub once",
        lambda how: SentenceEncoder(download("sentence-transformers/sentence-t5-base"), how),
    ),
    EncoderRow("tfidf", "TF-IDF and SVD of this catalogue, no weights", lambda _: TfidfEncoder()),
)


def find_encoder(name: str, options: SentenceOptions | None = None) -> Encoder:
    """The encoder of a name: a row of the table, a local directory, or a model of the hub."""
    options = options or SentenceOptions()
    for row in ENCODERS:
        if row.key == name:
            return row.make(options)
    if name == GIVEN:
        words = "encoder 'given' means your own vectors; hand them over in a file."
        raise SettingsError(words, arguments=("vectors",))
    if Path(name).expanduser().is_dir():
        return SentenceEncoder(Path(name).expanduser(), options)
    try:
        return SentenceEncoder(download(name if "/" in name else f"sentence-transformers/{name}"), options)
    except SettingsError as error:
        raise SettingsError(f"{error} {_hint(name)}") from None


def identity_of(name: str) -> str:
    """What tells one encoder from another: its name, for a local directory the content of its files."""
    directory = Path(name).expanduser()
    if any(row.key == name for row in ENCODERS) or not directory.is_dir():
        return name
    return sha256_of_folder(directory)


def _hint(name: str) -> str:
    keys = [row.key for row in ENCODERS]
    near = difflib.get_close_matches(name.lower(), keys, n=1)
    return f"Did you mean {near[0]}?" if near else f"Encoders that are always there: {keys[0]}, {keys[-1]}."

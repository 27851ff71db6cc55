"""Semantic IDs together with the tokenizer that made them, so that new items can be given theirs later."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from sidrec.core.artifacts import Artifact, opened, write_json
from sidrec.core.checked_files import damaged, read_json, read_tensors, reason
from sidrec.core.errors import InputError
from sidrec.embeddings.embedding_space import EmbeddingSpace
from sidrec.sids.base import Tokenizer, TokenizerSettings
from sidrec.sids.collisions import Policy, resolve_new
from sidrec.sids.inputs import Floats
from sidrec.sids.registry import find_tokenizer
from sidrec.sids.semantic_ids import SemanticIds

WEIGHTS_FILE = "tokenizer.safetensors"
SETTINGS_FILE = "tokenizer.json"
REPORT_FILE = "report.json"
PAGE_FILE = "report.html"
VECTORS_FILE = "vectors.json"
GIVEN = "given"
"""Not a tokenizer: IDs that somebody else made."""


@dataclass(frozen=True)
class TokenizedItems:
    """`report` holds the figures of the health report; `space` is how the items' text became vectors.

    Without a `tokenizer` the IDs were given.
    """

    ids: SemanticIds
    tokenizer: Tokenizer | None
    policy: Policy
    report: dict[str, Any]
    space: EmbeddingSpace | None = None
    vectors: Path | None = field(default=None, compare=False)
    """Where the vectors lie that they were made from, as far as that was written down."""

    def __repr__(self) -> str:
        made = "given" if self.tokenizer is None else f"by {self.tokenizer.key}"
        return f"TokenizedItems({self.ids.in_words} {made}, collisions: {self.policy})"

    def frozen_tokenizer(self) -> Tokenizer:
        """What makes IDs for new items."""
        if self.tokenizer is None:
            words = "these semantic IDs were given, so nothing can make one for new items; train again with theirs."
            raise InputError(words)
        return self.tokenizer

    def with_new_items(self, vectors: Floats, item_ids: list[str]) -> TokenizedItems:
        """The same with new items behind the old ones, whose IDs stay; the tokenizer is not trained further."""
        tokenizer = self.frozen_tokenizer()
        if len(vectors) != len(item_ids):
            raise InputError(f"{len(vectors)} vectors for {len(item_ids)} new items; give one vector per item.")
        seen = Counter([*self.ids.item_ids, *item_ids])
        again = next((item_id for item_id in item_ids if seen[item_id] > 1), None)
        if again is not None:
            raise InputError(f"item {again!r} already has an ID or is given twice; leave it out.")
        nearest = tokenizer.encode(vectors)
        vectors = np.asarray(vectors, dtype=np.float32)
        codes, _ = resolve_new(
            nearest,
            self.ids.codes,
            self.ids.codebook_sizes,
            self.policy,
            lambda items: tokenizer.code_distances(vectors[items], nearest[items]),
        )
        return replace(self, ids=self.ids.with_items(codes, item_ids))

    def write_files(self, directory: Path) -> None:
        """Files that any artefact may hold: its own kind, or a model that generates these IDs."""
        self.ids.write_files(directory)
        if self.tokenizer is not None:
            state = self.tokenizer.state()
            save_file({name: np.ascontiguousarray(array) for name, array in state.items()}, directory / WEIGHTS_FILE)
        facts = {
            "tokenizer": GIVEN if self.tokenizer is None else self.tokenizer.key,
            "settings": {} if self.tokenizer is None else self.tokenizer.settings.model_dump(mode="json"),
            "collisions": self.policy,
            "space": self.space is not None,
        }
        write_json(directory / SETTINGS_FILE, facts)
        write_json(directory / REPORT_FILE, self.report)
        if self.space is not None:
            self.space.write_files(directory)

    @classmethod
    def read_files(cls, artifact: Artifact, fingerprint: str = "") -> TokenizedItems:
        facts = read_json(artifact.file(SETTINGS_FILE), _Facts)
        tokenizer = None if facts.tokenizer == GIVEN else _tokenizer(artifact, facts)
        space = EmbeddingSpace.read_files(artifact) if facts.space and tokenizer is not None else None
        if tokenizer is not None and space is not None and space.width != tokenizer.text_width:
            words = f"is a tokenizer of vectors of {tokenizer.text_width} numbers, the items' have {space.width}"
            raise damaged(artifact.file(WEIGHTS_FILE), words)
        return cls(
            ids=SemanticIds.read_files(artifact, fingerprint),
            tokenizer=tokenizer,
            policy=facts.collisions,
            report=artifact.json(REPORT_FILE),
            space=space,
        )

    @classmethod
    def from_artifact(cls, artifact: Artifact) -> TokenizedItems:
        """From a `sids` artefact."""
        items = cls.read_files(artifact, artifact.fingerprint)
        if not artifact.has(VECTORS_FILE):
            return items
        return replace(items, vectors=artifact.path / read_json(artifact.file(VECTORS_FILE), _Vectors).embeddings)

    @classmethod
    def load(cls, path: Path) -> TokenizedItems:
        with opened(Path(path), "sids") as artifact:
            return cls.from_artifact(artifact)


@dataclass(frozen=True)
class _Vectors:
    """Seen from the artefact, so that both can move together."""

    embeddings: str


@dataclass(frozen=True)
class _Facts:
    tokenizer: str
    settings: dict[str, Any]
    collisions: Policy
    space: bool


def _tokenizer(artifact: Artifact, facts: _Facts) -> Tokenizer:
    kind = find_tokenizer(facts.tokenizer).load_class()
    settings = kind.settings_class.parse(facts.settings, owner=kind.key, where=str(artifact.path / SETTINGS_FILE))
    return _restored(kind, settings, artifact.file(WEIGHTS_FILE))


def _restored(kind: type[Tokenizer], settings: TokenizerSettings, file: Path) -> Tokenizer:
    """The tokenizer of a file, tried on one vector: whatever does not fit together shows there."""
    state = read_tensors(file)
    try:
        width = int(state["width"][0])
        if not any(width in array.shape for name, array in state.items() if name != "width"):
            raise ValueError(f"no array is {width} wide")
        tokenizer = kind.from_state(settings, state)
        if tokenizer.encode(np.zeros((1, tokenizer.text_width), np.float32)).shape != (
            1,
            len(tokenizer.codebook_sizes),
        ):
            raise ValueError("it gives another number of codes")
    except Exception as error:  # arrays of the wrong shape or kind may raise anything
        raise damaged(file, f"is no {kind.key} tokenizer with these settings ({reason(error)})") from None
    return tokenizer

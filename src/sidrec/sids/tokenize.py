"""From item vectors to semantic IDs: fit a tokenizer, take the nearest codes, resolve collisions, measure."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from sidrec.core.artifacts import Origin, forget_work, work_directory, write, write_json
from sidrec.core.errors import InputError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.settings import Mark, Settings, merge
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.sids.base import Tokenizer
from sidrec.sids.collisions import Policy, check_room, resolve
from sidrec.sids.inputs import TokenizerInputs
from sidrec.sids.quality import health
from sidrec.sids.registry import find_tokenizer
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.tokenized_items import PAGE_FILE, VECTORS_FILE, TokenizedItems
from sidrec.training.distributed import leads
from sidrec.training.together import ensure_together


class TokenizeSettings(Settings):
    """Which tokenizer, its own settings, and what to do about collisions."""

    tokenizer: str = "multi-head-vqvae"
    collisions: Policy = "unique"
    options: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of the tokenizer; what is not named keeps its default."""
    collaborative: EmbeddingSettings | None = None
    """Vectors of a trained model beside the text's, for tokenizers that take both: `{ from_model = "sasrec-ce" }`."""

    def method_values(self, *without: Mark) -> dict[str, Any]:
        """The tokenizer's own settings in full, so that naming a default, or a setting of its run, changes nothing."""
        values = {**super().method_values(*without), "options": self.build().settings.method_values()}
        if self.collaborative is None:  # as it was before there was such a setting
            values.pop("collaborative")
        return values

    def check(self, n_items: int) -> int:
        """How many codes an ID of these settings has; what cannot work is refused before anything is embedded."""
        tokenizer = self.build()
        tokenizer.check_inputs(collaborative=self.collaborative is not None)
        check_room(n_items, tokenizer.codebook_sizes, self.collisions)
        return len(tokenizer.codebook_sizes) + (self.collisions == "extra-code")

    def build(self) -> Tokenizer:
        kind = find_tokenizer(self.tokenizer).load_class()
        return kind(kind.settings_class.parse(self.options, owner=kind.key, where="tokenizer"))


def laid_over(defaults: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A model's values over some defaults of it, section by section.

    What the defaults' tokenizer is given means nothing to another one, so it goes when another is chosen.
    """
    own, chosen = defaults.get("tokenize", {}), values.get("tokenize", {})
    if isinstance(chosen, Mapping) and chosen.get("tokenizer", own.get("tokenizer")) != own.get("tokenizer"):
        own = {name: value for name, value in own.items() if name not in ("options", "collaborative")}
    return merge({**defaults, "tokenize": own} if own else defaults, values)


def tokenize(
    embeddings: ItemEmbeddings,
    settings: TokenizeSettings | None = None,
    progress: Progress | None = None,
    out: Path | None = None,
    titles: Sequence[str] | None = None,
    collaborative: ItemEmbeddings | None = None,
) -> TokenizedItems:
    """Give every item its semantic ID; with `out` the result is kept there (and taken from there when finished).

    `collaborative` are vectors of the same items from a trained model, for tokenizers that take both kinds.
    """
    settings, progress = settings or TokenizeSettings(), progress or SilentProgress()
    tokenizer = settings.build()
    tokenizer.check_inputs(collaborative=collaborative is not None)
    items = _Items.of(embeddings, collaborative)
    origin = items.origin(settings, tokenizer)
    if out is None:
        return _tokenized(items, tokenizer, settings.collisions, progress, None)
    out = Path(out)

    def make() -> None:
        workdir = work_directory(out, origin) / "training"
        result = _tokenized(items, tokenizer, settings.collisions, progress, workdir)
        if leads():
            _save(result, embeddings, out, origin, titles)

    return ensure_together(out, origin, make, TokenizedItems.from_artifact, progress)


@dataclass(frozen=True)
class _Items:
    """What the tokenizer is given, and whose vectors they are."""

    embeddings: ItemEmbeddings
    inputs: TokenizerInputs
    made_from: dict[str, str]

    @classmethod
    def of(cls, embeddings: ItemEmbeddings, collaborative: ItemEmbeddings | None) -> _Items:
        made_from = {"embeddings": embeddings.fingerprint}
        if collaborative is None:
            return cls(embeddings, TokenizerInputs(embeddings.vectors), made_from)
        if collaborative.item_ids != embeddings.item_ids:
            raise InputError(
                f"the collaborative vectors are of other items ({collaborative.n_items}, the text's are "
                f"{embeddings.n_items}); make both from the same dataset.",
                arguments=("collaborative",),
            )
        inputs = TokenizerInputs(embeddings.vectors, collaborative.vectors)
        return cls(embeddings, inputs, {**made_from, "collaborative": collaborative.fingerprint})

    def origin(self, settings: TokenizeSettings, tokenizer: Tokenizer) -> Origin:
        plain = {
            "tokenizer": tokenizer.key,
            "collisions": settings.collisions,
            "settings": tokenizer.settings.method_values(),
        }
        return Origin("sids", plain, self.made_from, seed=tokenizer.settings.seed)


def _tokenized(
    items: _Items, tokenizer: Tokenizer, policy: Policy, progress: Progress, workdir: Path | None
) -> TokenizedItems:
    inputs, embeddings, sizes = items.inputs, items.embeddings, tokenizer.codebook_sizes
    check_room(len(inputs), sizes, policy)
    began = time.perf_counter()
    tokenizer.fit(inputs, progress, workdir)
    fitted = time.perf_counter()
    nearest = tokenizer.encode(inputs)
    codes, sizes = resolve(
        nearest, sizes, policy, lambda chosen: tokenizer.code_distances(inputs.take(chosen), nearest[chosen])
    )
    resolved = time.perf_counter()
    ids = SemanticIds(codes, sizes, list(embeddings.item_ids))
    figures = health(tokenizer, tokenizer.joined(inputs), nearest, ids)
    seconds = {"fit_seconds": fitted - began, "resolve_seconds": resolved - fitted, "seconds": resolved - began}
    without_text = int(np.asarray(embeddings.missing_text).sum())
    names = {"items_without_text": without_text, "tokenizer": tokenizer.key, "collision_policy": policy}
    report = {**figures, **{name: round(value, 3) for name, value in seconds.items()}, **names}
    return TokenizedItems(ids, tokenizer, policy, report, embeddings.space())


def _save(
    result: TokenizedItems, embeddings: ItemEmbeddings, out: Path, origin: Origin, titles: Sequence[str] | None
) -> None:
    from sidrec.sids.report_page import render, siblings

    with write(out, origin) as directory:
        result.write_files(directory)
        if embeddings.path is not None:
            near = os.path.relpath(embeddings.path.absolute(), out.absolute())
            write_json(directory / VECTORS_FILE, {"embeddings": near})
        page = render(result, titles or embeddings.item_ids, siblings(out, origin))
        (directory / PAGE_FILE).write_text(page, encoding="utf-8")
    forget_work(out)

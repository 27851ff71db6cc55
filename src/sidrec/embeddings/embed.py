"""From a catalogue to item vectors: text, encoder, missing-text policy, PCA; resumable and skipped when done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.artifacts import Origin, ensure, write
from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.data.catalog import Catalog
from sidrec.data.schema import ITEM_ID
from sidrec.embeddings.base import Encoder, EncoderState
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.embedding_space import EmbeddingSpace
from sidrec.embeddings.encoders import GIVEN, find_encoder, identity_of
from sidrec.embeddings.given_vectors import GivenVectors, read_vectors
from sidrec.embeddings.item_embeddings import VECTORS_FILE, ItemEmbeddings
from sidrec.embeddings.item_text import item_texts, text_fields
from sidrec.embeddings.projection import Projection, fit_projection
from sidrec.embeddings.raw_vectors import RawVectors, raw_from_array, raw_from_texts
from sidrec.embeddings.sentence_encoder import SentenceOptions

Block = tuple[int, NDArray[np.float32]]
Elsewhere = Callable[[EmbeddingSettings, EncoderState | None, Sequence[tuple[int, list[str]]]], Iterator[Block]]
"""Encodes numbered blocks of texts by the encoder that the settings name, and gives their vectors in any order."""


@dataclass(frozen=True)
class _Job:
    """One run, not yet begun: texts to be encoded, or vectors that are there already."""

    item_ids: list[str]
    settings: EmbeddingSettings
    made_from: dict[str, str]
    source: str
    texts: list[str] = field(default_factory=list)
    vectors: NDArray[np.float32] | None = None

    @property
    def origin(self) -> Origin:
        settings = self.settings.method_values()
        for where in ("vectors", "from_model", "model_settings"):
            settings.pop(where)  # where vectors come from says nothing; their content is in `made_from`
        return Origin("embeddings", settings, self.made_from)

    def encoder(self) -> Encoder | None:
        return find_encoder(self.settings.encoder, _options(self.settings)) if self.vectors is None else None

    def run(
        self, encoder: Encoder | None, progress: Progress, work: Path | None = None, elsewhere: Elsewhere | None = None
    ) -> ItemEmbeddings:
        """Vectors in memory, or in `work`."""
        raw = self._raw(encoder, progress, work, elsewhere)
        if len(raw.row_of) > 1 and raw.all_equal():
            progress.note("all item vectors are identical: nothing can tell the items apart; check the item text")
        projection = self._projection(raw, progress)
        return ItemEmbeddings(
            item_ids=self.item_ids,
            vectors=raw.by_item(projection, self.settings.missing, None if work is None else work / VECTORS_FILE),
            missing_text=raw.row_of < 0,
            source=self.source,
            projection=projection,
            fingerprint=self.origin.fingerprint,
            settings=dict(self.origin.settings),
            state=raw.state,
        )

    def _raw(
        self, encoder: Encoder | None, progress: Progress, work: Path | None, elsewhere: Elsewhere | None
    ) -> RawVectors:
        if encoder is None:
            assert self.vectors is not None
            return raw_from_array(self.vectors)
        n_silent = sum(not text for text in self.texts)
        if n_silent:
            gets = "zeros" if self.settings.missing == "zero" else "the mean vector of the others"
            progress.note(f"{n_silent} of {len(self.texts)} items have no text: they get {gets}")
        # blocks lie beside the work directory, so that a kill while the result is sealed loses none
        blocks = None if work is None else work.with_name(work.name + "-blocks")
        far = None if elsewhere is None else partial(elsewhere, self.settings)
        return raw_from_texts(self.item_ids, self.texts, encoder, blocks, progress, far)

    def _projection(self, raw: RawVectors, progress: Progress) -> Projection | None:
        if self.settings.pca is None:
            return None
        projection = fit_projection(raw.weighted, self.settings.pca, self.settings.whiten)
        kept = len(projection.scale)
        if kept < self.settings.pca:
            progress.note(f"pca keeps {kept} axes instead of {self.settings.pca}: the vectors have no more directions")
        return projection


def embed_catalog(
    catalog: Catalog,
    settings: EmbeddingSettings | None = None,
    progress: Progress | None = None,
    out: Path | None = None,
    given: GivenVectors | None = None,
    elsewhere: Elsewhere | None = None,
) -> ItemEmbeddings:
    """One vector per item; with `out` an artefact that is resumed when unfinished and skipped when done.

    `given` hands over ready vectors, for example those of a trained model, in place of `settings.vectors`.
    Texts are encoded here, or `elsewhere`.
    """
    settings, progress = settings or EmbeddingSettings(), progress or SilentProgress()
    job = _job(catalog, settings, given)
    if elsewhere is not None and job.vectors is not None:
        raise InputError("the item vectors are given, so there is nothing to compute on a cluster.", arguments=("on",))
    if out is None:
        return job.run(job.encoder(), progress, elsewhere=elsewhere)

    def make() -> None:
        encoder = job.encoder()  # before anything is written: a name that leads nowhere leaves nothing behind
        with write(out, job.origin, resumable=True) as work:
            job.run(encoder, progress, work, elsewhere).write_facts(work)

    return ensure(out, job.origin, make, ItemEmbeddings.from_artifact, progress)


def embedded_at(path: Path, catalog: Catalog, settings: EmbeddingSettings) -> ItemEmbeddings | None:
    """The vectors at `path`, where they are what embedding this catalogue with these settings would give."""
    if settings.encoder == GIVEN:
        return None
    try:
        found = ItemEmbeddings.load(path)
    except ArtifactError:
        return None
    return found if found.fingerprint == _text_job(catalog, settings).origin.fingerprint else None


def embed_new(
    items: Catalog | pl.DataFrame,
    space: EmbeddingSpace | ItemEmbeddings,
    progress: Progress | None = None,
    given: GivenVectors | None = None,
) -> NDArray[np.float32]:
    """Vectors of new items, made exactly as the old ones were: same fields, encoder, projection and policy.

    Where the old ones were `given`, so are these, and only projected alike.
    """
    space = space.space() if isinstance(space, ItemEmbeddings) else space
    settings = EmbeddingSettings.parse(space.settings, owner="embeddings")
    frame = items.frame if isinstance(items, Catalog) else items
    if settings.encoder == GIVEN:
        return _given_new(Catalog(frame), space, given)
    if given is not None:
        words = "these item vectors are made from text, so that is all new items need; leave their vectors out."
        raise InputError(words, arguments=("vectors",))
    catalog = _same_fields(frame, settings.fields or ())
    texts = item_texts(catalog)
    silent = np.array([not text for text in texts], dtype=bool)
    _refuse_missing(settings, catalog.item_ids.to_list(), texts)
    vectors = np.tile(space.missing_vector, (len(texts), 1))
    if not silent.all():
        encoder = encoder_of(settings, space.state)
        raw = encoder.encode([text for text in texts if text], progress)
        if raw.shape[1] != space.encoder_width:
            raise ArtifactError(
                f"the old items' vectors come from an encoder of {space.encoder_width} numbers, {settings.encoder} "
                f"gives {raw.shape[1]}; embed the items again."
            )
        vectors[~silent] = raw if space.projection is None else space.projection.apply(raw)
    return vectors


def _given_new(catalog: Catalog, space: EmbeddingSpace, given: GivenVectors | None) -> NDArray[np.float32]:
    if given is None:
        words = "these item vectors were given, not made from text; give the new items' vectors as well."
        raise InputError(words, arguments=("vectors",))
    raw = given.in_catalogue_order(catalog)
    if raw.shape[1] != space.encoder_width:
        words = f"vectors of {raw.shape[1]} numbers, and those of the old items have {space.encoder_width}"
        raise InputError(f"{given.source}: {words}; give vectors of the same kind.", arguments=("vectors",))
    return raw if space.projection is None else space.projection.apply(raw)


def _same_fields(frame: pl.DataFrame, fields: Sequence[str]) -> Catalog:
    """The fields the old items were read by, in the same order; a column without a single value has no type yet."""
    have = [name for name in fields if name in frame.columns]
    if not have or ITEM_ID not in frame.columns:
        raise InputError(
            f"new items need the column {ITEM_ID} and at least one of the text fields {', '.join(fields)}."
        )
    return Catalog(frame.select(ITEM_ID, *have).with_columns(pl.col(pl.Null).cast(pl.String)))


def _job(catalog: Catalog, settings: EmbeddingSettings, given: GivenVectors | None) -> _Job:
    if not len(catalog):
        raise InputError("the catalogue has no items, so there is nothing to embed.")
    if given is None and settings.vectors is not None:
        given = read_vectors(settings.vectors)
    if given is not None:
        return _given_job(catalog, settings, given)
    if settings.encoder == GIVEN:
        find_encoder(GIVEN)  # says where the vectors have to come from
    return _text_job(catalog, settings)


def _text_job(catalog: Catalog, settings: EmbeddingSettings) -> _Job:
    """The fields are settled here and saved, so that new items are read by the same ones."""
    fields = text_fields(catalog, settings.fields)
    settings = settings.model_copy(update={"fields": tuple(fields)})
    texts = item_texts(catalog, fields)
    ids = catalog.item_ids.to_list()
    _refuse_missing(settings, ids, texts)
    if not any(texts):
        raise InputError(f"none of the {len(ids)} items has text in {', '.join(fields)}; name other fields or vectors.")
    made_from = {"items": _digest([*ids, *texts]), "encoder": identity_of(settings.encoder)}
    return _Job(ids, settings, made_from, settings.encoder, texts=texts)


def _given_job(catalog: Catalog, settings: EmbeddingSettings, given: GivenVectors) -> _Job:
    settings = settings.model_copy(update={"encoder": GIVEN})
    ids, vectors = catalog.item_ids.to_list(), given.in_catalogue_order(catalog)
    made_from = {"items": _digest(ids), "vectors": hashlib.sha256(vectors.tobytes()).hexdigest()}
    return _Job(ids, settings, made_from, given.source, vectors=vectors)


def _refuse_missing(settings: EmbeddingSettings, item_ids: Sequence[str], texts: Sequence[str]) -> None:
    if settings.missing == "error" and not all(texts):
        silent = [item_id for item_id, text in zip(item_ids, texts, strict=True) if not text]
        raise InputError(
            f"{len(silent)} of {len(texts)} items have no text, first {silent[0]!r}; "
            "add text or set missing to mean or zero."
        )


def encoder_of(settings: EmbeddingSettings, state: EncoderState | None) -> Encoder:
    """The encoder that these settings name, with what it learned from a catalogue."""
    encoder = find_encoder(settings.encoder, _options(settings))
    if state is not None:
        encoder.restore(state)
    return encoder


def _options(settings: EmbeddingSettings) -> SentenceOptions:
    return SentenceOptions(settings.max_tokens, settings.batch_size, settings.device)


def _digest(words: Sequence[str]) -> str:
    """Lengths go in as well, so that text cannot slip from one item to the next unnoticed."""
    digest = hashlib.sha256()
    for word in words:
        data = word.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()

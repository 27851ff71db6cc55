"""What item vectors are made of beside the identity: semantic codes, text, attributes; for old and new items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sidrec.core.artifacts import Artifact, write_json
from sidrec.core.checked_files import read_json
from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.core.stages import Stages
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.statistics import filled_rows, is_text
from sidrec.embeddings.embed import embedded_at
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.encoders import GIVEN
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.models.attributes import Attributes
from sidrec.models.growth import Growth
from sidrec.models.ingredients import Ids, Vectors, in_memory, inside
from sidrec.models.item_ids import ItemIds
from sidrec.models.text_vectors import TextVectors
from sidrec.nn.item_vectors import ItemFeatures
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.sids.tokenized_items import SETTINGS_FILE

ATTRIBUTES_FILE = "attributes.json"


class ItemVectorSettings(Settings):
    """Which parts an item's vector is the sum of: v_i = id_i + sum_m C_m[c_m(i)] + A text_i."""

    identity: bool = True
    """A vector of its own for every item."""
    codes: bool = False
    """One vector per code of the item's semantic ID, shared by all items with that code."""
    text: bool = False
    """A linear map of the item's text vector."""
    attributes: tuple[str, ...] = ()
    """Catalogue columns such as brand whose values are further codes."""
    text_width: int = Field(128, ge=1)
    """Whitened principal axes of the text vectors that are kept."""
    identity_from: int = Field(0, ge=0)
    """Items with fewer training interactions have no identity: they are judged by what is known of them."""
    identity_dropout: float = Field(0.0, ge=0, lt=1)
    """Probability with which training leaves an item's identity out, so that the other parts can speak alone."""

    @model_validator(mode="after")
    def _something_is_left(self) -> Self:
        others = self.codes or self.text or bool(self.attributes)
        if not (self.identity or others):
            raise ValueError("item_vectors switches every part off; keep identity, codes, text or attributes")
        if (self.identity_from or self.identity_dropout) and not others:
            raise ValueError("identity_from and identity_dropout need a part that speaks without it: codes or text")
        return self


@dataclass(frozen=True)
class ItemFacts:
    """Text and attributes of a model's catalogue, where its item vectors use them; codes are in its `ItemIds`."""

    text: TextVectors | None = None
    attributes: Attributes | None = None

    def features(self, catalog: Catalog, ids: ItemIds | None, warm: NDArray[np.bool_] | None = None) -> ItemFeatures:
        """All that is known as tensors; `warm` marks the items that have an identity."""
        if self.text is not None and len(self.text.vectors) != len(catalog):
            found = f"{len(self.text.vectors)} text vectors for a catalogue of {len(catalog)} items"
            raise ArtifactError(f"there are {found}; train the model again.")
        codes = [] if ids is None else [ids.codes.astype(np.int64)]
        sizes = () if ids is None else ids.semantic_ids.codebook_sizes
        if self.attributes is not None:
            codes.append(self.attributes.codes(catalog))
            sizes = (*sizes, *self.attributes.sizes)
        return ItemFeatures(
            codes=torch.from_numpy(np.concatenate(codes, axis=1)) if codes else None,
            sizes=sizes,
            text=None if self.text is None else torch.from_numpy(np.ascontiguousarray(self.text.vectors)),
            warm=None if warm is None else torch.from_numpy(warm),
        )

    def with_new_items(self, items: Catalog, given: GivenVectors | None = None) -> ItemFacts:
        """The same with new items behind the old ones."""
        return self if self.text is None else replace(self, text=self.text.with_new_items(items, given))

    def grown(self, growth: Growth, given: GivenVectors | None = None) -> ItemFacts:
        """For another catalogue of the shop."""
        return ItemFacts(
            None if self.text is None else self.text.grown(growth, given),
            None if self.attributes is None else self.attributes.grown(growth.catalog),
        )

    def write_files(self, directory: Path) -> None:
        if self.text is not None:
            self.text.write_files(directory)
        if self.attributes is not None:
            write_json(directory / ATTRIBUTES_FILE, self.attributes.values)

    @classmethod
    def read_files(cls, artifact: Artifact) -> ItemFacts:
        named = (
            Attributes(read_json(artifact.file(ATTRIBUTES_FILE), dict[str, list[str]]))
            if artifact.has(ATTRIBUTES_FILE)
            else None
        )
        return cls(TextVectors.read_files(artifact), named)


@dataclass(frozen=True)
class Describer:
    """Finds out about items what their vectors shall be made of."""

    parts: ItemVectorSettings
    embedding: EmbeddingSettings
    tokenize: TokenizeSettings

    def describe(
        self, data: Dataset, progress: Progress, workdir: Path | None = None, given: ItemIds | None = None
    ) -> tuple[ItemIds | None, ItemFacts]:
        """Embed and tokenize where it is needed; a catalogue without text goes without those parts."""
        parts, catalog = self.parts, data.catalog
        attributes = Attributes.of(catalog, parts.attributes) if parts.attributes else None
        ids, text = given if parts.codes else None, None
        make_ids = parts.codes and ids is None
        if (parts.text or make_ids) and self.embedding.encoder != GIVEN and not speaks(catalog):
            progress.note("the catalogue has no text, so the item vectors go without the parts made of it.")
        elif parts.text or make_ids:
            stages, vectors = Stages(inside(workdir), progress), Vectors(in_memory(data), self.embedding)
            if parts.text:
                text = TextVectors.of(self._behind(given, catalog) or stages.get(vectors), parts.text_width)
            ids = ItemIds(stages.get(Ids(vectors, self.tokenize))) if make_ids else ids
        if not parts.identity and ids is None and text is None and attributes is None:
            raise InputError(
                "without text nothing is known of the items but their identity; set item_vectors.identity."
            )
        return ids, ItemFacts(text, attributes)

    def _behind(self, given: ItemIds | None, catalog: Catalog) -> ItemEmbeddings | None:
        """The vectors that given IDs were made from, where they are at hand and just what would be made here."""
        near = None if given is None else given.tokenized.vectors
        return None if near is None else embedded_at(near, catalog, self.embedding)


def saved_ids(artifact: Artifact) -> ItemIds | None:
    """The semantic IDs of a saved model, where it has some."""
    return ItemIds.read_files(artifact) if artifact.has(SETTINGS_FILE) else None


def speaks(catalog: Catalog) -> bool:
    """Whether any item has text."""
    columns = (catalog.frame[name] for name in catalog.frame.columns)
    return any(filled_rows(column).any() for column in columns if is_text(column))

"""The semantic IDs of a model's catalogue: made from its text or taken ready, and given to items that come later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact
from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.mirroring import local
from sidrec.core.progress import Progress
from sidrec.core.stages import Stages
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.schema import ITEM_ID
from sidrec.decoding.search_space import ItemSearchSpace
from sidrec.embeddings.embed import embed_new
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.encoders import GIVEN
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.models.growth import Growth
from sidrec.models.ingredients import Ids, Vectors, in_memory, inside
from sidrec.sids.given_ids import IdSource, given_ids
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.sids.tokenized_items import TokenizedItems


@dataclass(frozen=True)
class ItemIds:
    """A component, not a base class: whatever has semantic IDs holds one of these. It never changes; a changed
    catalogue gets a new one, so that a failing step leaves a model as it was."""

    tokenized: TokenizedItems
    given: str = ""
    """The fingerprint of ready IDs that were taken; empty where the model made its own."""

    @classmethod
    def make(
        cls,
        data: Dataset,
        embedding: EmbeddingSettings,
        settings: TokenizeSettings,
        progress: Progress,
        workdir: Path | None = None,
    ) -> ItemIds:
        """Vectors to IDs, with whatever they need; it is kept in `workdir` while the work lasts."""
        ids = Ids(Vectors(in_memory(data), embedding), settings)
        return cls(Stages(inside(workdir), progress).get(ids))

    @classmethod
    def take(cls, source: IdSource, catalog: Catalog) -> ItemIds:
        """Ready IDs of these items: a `sids` artefact, or a table of somebody's own codes."""
        if isinstance(source, TokenizedItems):
            tokenized = source
        elif not isinstance(source, Path | str) or local(source).is_file():
            tokenized = given_ids(local(source) if isinstance(source, Path | str) else source, catalog)
        else:
            tokenized = TokenizedItems.load(Path(source))
        taken = cls(tokenized, tokenized.ids.fingerprint)
        taken.check_catalog(catalog, str(source) if isinstance(source, Path | str) else "the given IDs")
        return taken

    def check_catalog(self, catalog: Catalog, name: str) -> None:
        """IDs of another catalogue are refused; `name` is how the caller calls these."""
        if self.semantic_ids.item_ids != catalog.item_ids.to_list():
            raise ArtifactError(
                f"{name}: these are semantic IDs of another catalogue ({self.semantic_ids.n_items} items, the dataset "
                f"has {len(catalog)}); run `sidrec embed` and `sidrec tokenize` on this dataset."
            )

    @property
    def semantic_ids(self) -> SemanticIds:
        return self.tokenized.ids

    @property
    def codes(self) -> NDArray[np.int32]:
        """(n_items, n_codes)."""
        return self.tokenized.ids.codes

    @cached_property
    def search_space(self) -> ItemSearchSpace:
        """Where a search for IDs may go; its any-order index is shared by all requests on this catalogue."""
        return ItemSearchSpace(self.codes, self.semantic_ids.codebook_sizes)

    def with_new_items(self, frame: pl.DataFrame, given: GivenVectors | None = None) -> ItemIds:
        """The same IDs and, behind them, those the frozen tokenizer gives to the rows of `frame`."""
        space = self.tokenized.space
        self.tokenized.frozen_tokenizer()
        if space is None:
            raise InputError("nothing is known of how these semantic IDs were made; train again with the new items.")
        if given is None and space.settings.get("encoder") == GIVEN:
            raise InputError(
                "these semantic IDs were made from given vectors, or those of a model, so the text of new items says "
                "nothing; give the vectors of the new items, or train again with them.",
                arguments=("vectors",),
            )
        vectors = embed_new(Catalog(frame), space, given=given)
        return replace(self, tokenized=self.tokenized.with_new_items(vectors, frame[ITEM_ID].to_list()))

    def grown(self, growth: Growth, given: GivenVectors | None = None) -> ItemIds:
        """For another catalogue of the shop: items that have an ID keep it, the frozen tokenizer gives the others'."""
        ids = self.with_new_items(growth.new.frame, given) if len(growth.new) else self
        return ItemIds(replace(ids.tokenized, ids=ids.semantic_ids.take(growth.rows)))

    def write_files(self, directory: Path) -> None:
        self.tokenized.write_files(directory)

    @classmethod
    def read_files(cls, artifact: Artifact) -> ItemIds:
        given = artifact.made_from.get("sids", "")
        return cls(TokenizedItems.read_files(artifact, given), given)

"""The semantic IDs of a model's catalogue: made from its text or taken ready, and given to items that come later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.artifacts import Artifact
from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.progress import Progress
from sidrec.core.stages import Stages
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.schema import ITEM_ID
from sidrec.decoding.search_space import ItemSearchSpace
from sidrec.embeddings.embed import EmbeddingSettings, embed_new
from sidrec.embeddings.encoders import GIVEN
from sidrec.models.ingredients import Ids, Vectors, in_memory, inside
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
    def take(cls, source: Path | TokenizedItems) -> ItemIds:
        """Ready IDs, for example those of a `sids` artefact."""
        tokenized = source if isinstance(source, TokenizedItems) else TokenizedItems.load(source)
        return cls(tokenized, tokenized.ids.fingerprint)

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

    def with_new_items(self, frame: pl.DataFrame) -> ItemIds:
        """The same IDs and, behind them, those the frozen tokenizer gives to the rows of `frame`."""
        space = self.tokenized.space
        if space is None or space.settings.get("encoder") == GIVEN:
            raise InputError(
                "these semantic IDs were made from given vectors, or those of a model, so the text of new items says "
                "nothing; train again with them."
            )
        vectors = embed_new(Catalog(frame), space)
        return replace(self, tokenized=self.tokenized.with_new_items(vectors, frame[ITEM_ID].to_list()))

    def write_files(self, directory: Path) -> None:
        self.tokenized.write_files(directory)

    @classmethod
    def read_files(cls, artifact: Artifact) -> ItemIds:
        given = artifact.made_from.get("sids", "")
        return cls(TokenizedItems.read_files(artifact, given), given)


def as_catalog_rows(items: Any, like: pl.DataFrame) -> pl.DataFrame:
    """A polars or pandas frame of new items in the catalogue's columns; ids become strings."""
    frame = items if isinstance(items, pl.DataFrame) else pl.from_pandas(items)
    if ITEM_ID not in frame.columns:
        raise InputError(f"new items need a column {ITEM_ID}; the frame has: {', '.join(frame.columns)}.")
    unknown = [name for name in frame.columns if name not in like.columns]
    if unknown:
        raise InputError(f"new items have a column {unknown[0]} that the catalogue has not; drop or rename it.")
    columns = []
    for name, dtype in like.schema.items():
        column = frame[name] if name in frame.columns else pl.Series(name, [None] * frame.height)
        try:
            columns.append(column.cast(dtype))
        except pl.exceptions.PolarsError:
            raise InputError(f"new items: column {name} is {column.dtype}, the catalogue has {dtype}.") from None
    return pl.DataFrame(columns)

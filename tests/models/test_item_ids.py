from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import ArtifactError
from sidrec.core.progress import SilentProgress
from sidrec.data.synthetic import clusters, cycle
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models.item_ids import ItemIds
from sidrec.sids.tokenize import TokenizeSettings

DATA = clusters(n_clusters=3, cluster_size=5, n_users=10, length=5)
CATALOG = DATA.catalog
HOW = (
    EmbeddingSettings(encoder="tfidf"),
    TokenizeSettings(tokenizer="rq-kmeans", options={"n_codes": 3, "codebook_size": 4, "pca": None}),
    SilentProgress(),
)


@pytest.mark.slow
def test_made_kept_and_taken_ids_are_the_same(tmp_path: Path) -> None:
    made = ItemIds.make(DATA, *HOW, tmp_path)
    taken = ItemIds.take(next((tmp_path / "sids").iterdir()), CATALOG)
    assert np.array_equal(made.codes, taken.codes)
    assert made.given == "" and taken.given == taken.semantic_ids.fingerprint != ""
    taken.check_catalog(CATALOG, "these")
    with pytest.raises(ArtifactError, match=r"these: .* another catalogue \(15 items, the dataset has 8\)"):
        taken.check_catalog(cycle(n_items=8, n_users=9, length=4).catalog, "these")


def test_new_items_leave_the_old_ids_alone() -> None:
    made = ItemIds.make(DATA, *HOW)
    frame = pl.DataFrame({"item_id": ["7"], "title": ["a thing"]})
    grown = made.with_new_items(frame)
    assert grown.semantic_ids.item_ids == [*CATALOG.item_ids.to_list(), "7"]
    assert np.array_equal(grown.codes[:15], made.codes) and len(made.codes) == 15
    assert len(np.unique(grown.codes, axis=0)) == 16
    assert grown.search_space is grown.search_space is not made.search_space

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.progress import SilentProgress
from sidrec.data.synthetic import clusters, cycle
from sidrec.embeddings.embed import EmbeddingSettings
from sidrec.models.item_ids import ItemIds, as_catalog_rows
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
    taken = ItemIds.take(next((tmp_path / "sids").iterdir()))
    assert np.array_equal(made.codes, taken.codes)
    assert made.given == "" and taken.given == taken.semantic_ids.fingerprint != ""
    taken.check_catalog(CATALOG, "these")
    with pytest.raises(ArtifactError, match=r"these: .* another catalogue \(15 items, the dataset has 8\)"):
        taken.check_catalog(cycle(n_items=8, n_users=9, length=4).catalog, "these")


def test_new_items_leave_the_old_ids_alone() -> None:
    made = ItemIds.make(DATA, *HOW)
    frame = as_catalog_rows(pl.DataFrame({"item_id": [7], "title": ["a thing"]}), CATALOG.frame)
    grown = made.with_new_items(frame)
    assert grown.semantic_ids.item_ids == [*CATALOG.item_ids.to_list(), "7"]
    assert np.array_equal(grown.codes[:15], made.codes) and len(made.codes) == 15
    assert len(np.unique(grown.codes, axis=0)) == 16
    assert grown.search_space is grown.search_space is not made.search_space


def test_rows_like_the_catalogues() -> None:
    rows = as_catalog_rows(pl.DataFrame({"item_id": [7]}), CATALOG.frame)
    assert rows.schema == CATALOG.frame.schema and rows["item_id"].to_list() == ["7"]
    assert rows["title"].to_list() == [None]
    with pytest.raises(InputError, match="need a column item_id"):
        as_catalog_rows(pl.DataFrame({"title": ["x"]}), CATALOG.frame)
    with pytest.raises(InputError, match="a column colour that the catalogue has not"):
        as_catalog_rows(pl.DataFrame({"item_id": ["a"], "colour": ["x"]}), CATALOG.frame)

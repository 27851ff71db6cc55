"""Two catalogues of one shop, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.catalog import Catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models.attributes import Attributes
from sidrec.models.growth import Growth

OLD, NEW = (Catalog(pl.DataFrame({"item_id": list(ids)})) for ids in ("abc", "xcya"))


def test_items_are_known_by_their_ids_and_not_by_their_place() -> None:
    growth = Growth(OLD, NEW)
    assert growth.source.tolist() == [-1, 2, -1, 0]
    assert growth.new.item_ids.to_list() == ["x", "y"]
    assert growth.rows.tolist() == [3, 2, 4, 0]  # a b c x y
    assert growth.words == "2 items are known, 2 are new, 1 are no longer there"


def test_vectors_of_the_new_items_alone(tmp_path) -> None:
    growth, file = Growth(OLD, NEW), tmp_path / "v.npy"
    np.save(file, np.arange(4, dtype=np.float32)[:, None])
    given = growth.given(EmbeddingSettings(vectors=file))
    assert given is not None and given.in_catalogue_order(growth.new).ravel().tolist() == [0, 2]
    pl.DataFrame({"item_id": ["y", "x"], "vector": [[5.0], [6.0]]}).write_parquet(tmp_path / "v.parquet")
    named = growth.given(EmbeddingSettings(vectors=tmp_path / "v.parquet"))
    assert named is not None and named.in_catalogue_order(growth.new).ravel().tolist() == [6, 5]
    assert growth.given(EmbeddingSettings()) is None
    np.save(file, np.zeros((3, 1), np.float32))
    with pytest.raises(InputError, match="3 vectors for 4 items"):
        growth.given(EmbeddingSettings(vectors=file))


def test_values_keep_their_codes() -> None:
    old = Attributes({"brand": ["b", "d"], "gone": ["g"]})
    grown = old.grown(Catalog(pl.DataFrame({"item_id": ["1", "2", "3"], "brand": ["a", "d", ""]})))
    assert grown.values == {"brand": ["b", "d", "a"], "gone": ["g"]}

"""The catalogue."""

from __future__ import annotations

import polars as pl

from sidrec.data.catalog import Catalog

CATALOG = Catalog(
    pl.DataFrame(
        {"item_id": ["a", "b", "c"], "title": ["A", None, ""], "tags": [["x", "y"], ["y"], None], "n": [1, 2, 1]}
    )
)


def test_indices_and_titles() -> None:
    assert CATALOG.index_of(["c", "zz", "a"]).tolist() == [2, -1, 0]
    assert CATALOG.titles == ["A", "b", "c"]  # an item without a title shows its id
    assert Catalog(pl.DataFrame({"item_id": ["q"]})).titles == ["q"]
    assert Catalog(pl.DataFrame({"item_id": ["q", "r"], "title": [["a", "b"], None]})).titles == ["a, b", "r"]
    assert Catalog(pl.DataFrame({"item_id": ["q"], "title": [{"x": 1}]})).titles == ["q"]

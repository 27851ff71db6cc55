"""The figures of the data table, by hand."""

from __future__ import annotations

import polars as pl
import pytest

from sidrec.data.catalog import Catalog
from sidrec.data.histories import Histories
from sidrec.data.statistics import describe


def test_by_hand() -> None:
    frame = pl.DataFrame(
        {"item_id": list("abcd"), "title": ["A", " ", None, ""], "tags": [[], ["x"], [""], None], "price": [1, 2, 3, 4]}
    )
    found = describe(Histories.from_lists([[0, 1, 2], [0], [1, 0]]), Catalog(frame))
    assert (found.users, found.items, found.interactions) == (3, 4, 6)
    assert found.sparsity == pytest.approx(1 - 6 / 12)
    assert (found.average_length, found.median_length, found.shortest, found.longest) == (2.0, 2.0, 1, 3)
    assert found.text_fields == {"title": 0.25, "tags": 0.25}  # prices are no text
    assert found.items_with_text == 0.5


def test_nothing_at_all() -> None:
    found = describe(Histories.from_lists([]), Catalog(pl.DataFrame({"item_id": []}, schema={"item_id": pl.String})))
    assert (found.users, found.shortest, found.average_length, found.items_with_text) == (0, 0, 0.0, 0.0)

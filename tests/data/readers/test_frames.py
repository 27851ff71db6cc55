"""Data frames as sources."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.build_dataset import PrepareSettings, build_dataset
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.frames import as_polars, frame_source, is_frame

COLUMNS = {"user": ["u", "v"], "item_id": [1, 2], "timestamp": [3, 4]}


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pl.LazyFrame])
def test_polars_and_pandas(make: type) -> None:
    source = frame_source(
        make(COLUMNS), make({"item_id": [1, 2], "title": ["é", "日"]}), Columns.of({"user_id": "user"})
    )
    (events,) = source.interactions()
    assert events.frame.rows() == [("u", 1, 3), ("v", 2, 4)]
    assert source.items is not None
    assert [batch.frame.rows() for batch in source.items()] == [[(1, "é"), (2, "日")]]


def test_other_things_are_refused() -> None:
    assert not is_frame("path.csv")
    with pytest.raises(InputError, match="items: list is neither a path nor"):
        as_polars([1], "items")
    with pytest.raises(InputError, match="interactions: no columns user_id"):
        list(frame_source(pl.DataFrame({"x": [1]}), None, Columns()).interactions())


def test_a_column_of_several_kinds_is_named() -> None:
    mixed = pd.DataFrame({"user": ["u", "v"], "sku": [1, "a"], "timestamp": [1, 2]})
    with pytest.raises(InputError, match=r"interactions, column sku: holds int and str, .*astype\(str\)"):
        frame_source(mixed, None, Columns.of({"user_id": "user", "item_id": "sku"}))
    whole = pl.DataFrame({"user": ["u"], "sku": [1.5], "timestamp": [1]})
    source = frame_source(whole, None, Columns.of({"user_id": "user", "item_id": "sku"}))
    with pytest.raises(InputError, match=r"interactions, row 0, column sku: ids must be strings or whole numbers"):
        build_dataset(source, PrepareSettings())

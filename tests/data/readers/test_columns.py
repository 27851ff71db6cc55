"""Column mapping."""

from __future__ import annotations

import pytest

from sidrec.core.errors import InputError, SettingsError
from sidrec.data.readers.columns import check_columns, event_columns, item_columns, parse_columns, refuse_repeats


def test_ours_to_theirs() -> None:
    mapping = parse_columns("user_id=reviewerID, item_id=asin")
    assert event_columns(["reviewerID", "asin", "timestamp", "rating"], mapping, "f") == {
        "user_id": "reviewerID",
        "item_id": "asin",
        "timestamp": "timestamp",
        "rating": "rating",
    }
    assert event_columns(["user_id", "item_id", "timestamp"], {}, "f").keys() == {"user_id", "item_id", "timestamp"}


def test_missing_columns_are_named_with_what_is_there() -> None:
    with pytest.raises(
        InputError, match=r"f: no columns user_id, timestamp; it has: item_id, ts\. Say which columns they are"
    ):
        event_columns(["item_id", "ts"], {}, "f")
    with pytest.raises(InputError, match="no column stars"):
        event_columns(["user_id", "item_id", "timestamp"], {"rating": "stars"}, "f")
    with pytest.raises(InputError, match="f: no column asin"):
        item_columns(["sku", "title"], {"item_id": "asin"}, "f")


def test_items_take_the_mapped_id_or_ours() -> None:
    assert item_columns(["asin", "name"], {"item_id": "asin", "title": "name"}, "f") == {
        "asin": "item_id",
        "name": "title",
    }
    assert item_columns(["item_id", "name"], {"item_id": "asin"}, "f") == {"item_id": "item_id"}
    with pytest.raises(InputError, match="has a column title already"):
        item_columns(["item_id", "name", "title"], {"title": "name"}, "f")


def test_bad_mappings() -> None:
    with pytest.raises(SettingsError, match="user_id: write columns as user_id=reviewerID"):
        parse_columns("user_id")
    with pytest.raises(SettingsError, match="colour is not one of ours"):
        check_columns({"colour": "x"})
    with pytest.raises(InputError, match="the column 'a' appears twice"):
        refuse_repeats(["a", "b", "a"], "f")

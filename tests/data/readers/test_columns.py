"""Column mapping."""

from __future__ import annotations

import pytest

from sidrec.core.errors import InputError, SettingsError
from sidrec.data.readers.columns import Columns, event_columns, item_columns, parse_columns, refuse_repeats


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
        item_columns(["sku", "title"], Columns.of({"item_id": "asin"}), "f")


def test_items_take_the_mapped_id_or_ours() -> None:
    assert item_columns(["asin", "name"], Columns.of({"item_id": "asin", "title": "name"}), "f") == {
        "asin": "item_id",
        "name": "title",
    }
    assert item_columns(["item_id", "name"], Columns.of({"item_id": "asin"}), "f") == {"item_id": "item_id"}
    with pytest.raises(InputError, match="has a column title already"):
        item_columns(["item_id", "name", "title"], Columns.of({"title": "name"}), "f")


def test_bad_mappings() -> None:
    with pytest.raises(SettingsError, match="user_id: write columns as user_id=reviewerID"):
        parse_columns("user_id")
    with pytest.raises(SettingsError, match="colour is not one of ours"):
        Columns.of({"colour": "x"})
    with pytest.raises(SettingsError, match="item_columns: our name comes first, then yours: item_id=Artikel"):
        Columns.of(items={"Artikel": "item_id"})
    with pytest.raises(SettingsError, match=r"interaction_columns: title is not one of ours; map user_id"):
        Columns.of(events={"title": "x"})
    with pytest.raises(InputError, match="the column 'a' appears twice"):
        refuse_repeats(["a", "b", "a"], "f")


def test_each_table_may_have_names_of_its_own() -> None:
    columns = Columns.of({"user_id": "Kunde"}, {"item_id": "sku"}, {"item_id": "Artikel", "title": "Name"})
    events = {"user_id": "Kunde", "item_id": "sku"}
    assert event_columns(["Kunde", "sku"], columns.events, "f") == events
    assert item_columns(["Artikel", "Name", "Preis"], columns, "f") == {"Artikel": "item_id", "Name": "title"}
    with pytest.raises(InputError, match=r"f: no column Artikel; it has: item_id, Name\."):
        item_columns(["item_id", "Name"], columns, "f")
    assert columns.as_settings() == {
        "columns": {"user_id": "Kunde"},
        "interaction_columns": {"item_id": "sku"},
        "item_columns": {"item_id": "Artikel", "title": "Name"},
    }
    assert Columns.of({"user_id": "u"}).as_settings() == {"columns": {"user_id": "u"}}


def test_times_may_be_missing_but_not_those_that_were_named() -> None:
    assert event_columns(["user_id", "item_id"], {}, "f") == {"user_id": "user_id", "item_id": "item_id"}
    with pytest.raises(
        InputError, match=r"f: no column timestamp; is it Bestellzeit\? Then say timestamp=Bestellzeit;"
    ):
        event_columns(["user_id", "item_id", "Bestellzeit"], {}, "f")
    with pytest.raises(InputError, match="f: no column Datum"):
        event_columns(["user_id", "item_id"], {"timestamp": "Datum"}, "f")

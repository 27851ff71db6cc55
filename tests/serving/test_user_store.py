"""The same tests against a real SQLite and a real PostgreSQL."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from sidrec.core.errors import SettingsError, StorageError
from sidrec.data import event_table
from sidrec.data.readers.store import snapshot
from sidrec.serving.user_store import DatabaseStore, Interaction

SQLITE = pytest.param("sqlite", id="sqlite")
POSTGRES = pytest.param("postgresql", id="postgresql", marks=pytest.mark.slow)


@pytest.fixture(params=[SQLITE, POSTGRES])
def url(request, tmp_path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/sub/users.db"
    return request.getfixturevalue("postgres").fresh()


@pytest.fixture
def store(url):
    store = DatabaseStore(url)
    yield store
    store.close()


def events(user: str, *items: str, start: int = 0) -> list[Interaction]:
    return [
        Interaction(f"{user}-{start + place}", user, item, 1_000 * (start + place)) for place, item in enumerate(items)
    ]


def test_an_event_counts_once(store):
    assert store.append(events("u", "a", "b")) == 2
    assert store.append(events("u", "a", "b", "c")) == 1
    assert (store.count(), store.history("u", 10)) == (3, ["a", "b", "c"])


def test_a_history_is_in_order_of_time_and_then_of_arrival(store):
    store.append([Interaction("1", "u", "late", 9), Interaction("2", "u", "x", 5), Interaction("3", "u", "y", 5)])
    store.append([Interaction("4", "u", "early", 1), *events("other", "z")])
    assert store.history("u", 10) == ["early", "x", "y", "late"]
    assert store.history("u", 2) == ["y", "late"]
    assert store.history("nobody", 5) == []


def test_a_user_is_forgotten_whole(store):
    store.append([*events("u", "a", "b"), *events("v", "a")])
    assert (store.forget("u"), store.history("u", 5), store.history("v", 5)) == (2, [], ["a"])
    assert store.forget("u") == 0


def test_words_are_data(store):
    odd = "'; DROP TABLE sidrec_events; -- \u202e%s"
    store.append([Interaction(odd, odd, odd, 1)])
    assert store.history(odd, 1) == [odd]


def test_eight_threads_lose_nothing(store):
    def write(number: int) -> None:
        for start in range(0, 20, 5):
            store.append(events(f"u{number}", *"abcde", start=start))
            store.append(events("shared", *"abcde", start=start)[:: 1 if number % 2 else -1])

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert store.count() == 8 * 20 + 20


def test_what_was_appended_is_there_for_another_connection(store, url):
    store.append(events("u", "a"))
    again = DatabaseStore(url)
    assert again.count() == 1
    again.close()


def test_several_who_start_together_migrate_once(url):
    found: list[DatabaseStore] = []
    starts = [threading.Thread(target=lambda: found.append(DatabaseStore(url))) for _ in range(4)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()
    assert len(found) == 4 and all(store.count() == 0 for store in found)
    for store in found:
        store.close()


def test_a_newer_store_is_refused_in_words(url):
    engine = event_table.connected(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE sidrec_schema SET version = 99"))
    engine.dispose()
    with pytest.raises(StorageError, match=r"written by a newer version \(schema 99"):
        DatabaseStore(url)


def test_an_older_store_is_brought_up_to_date(url, monkeypatch):
    store = DatabaseStore(url)
    store.append(events("u", "a"))
    store.close()

    def add_a_column(connection) -> None:
        connection.execute(text("ALTER TABLE sidrec_events ADD COLUMN note TEXT"))

    monkeypatch.setattr(event_table, "MIGRATIONS", (*event_table.MIGRATIONS, add_a_column))
    for _ in range(2):
        engine = event_table.connected(url)
        with engine.begin() as connection:
            assert connection.execute(text("SELECT note FROM sidrec_events")).all() == [(None,)]
            assert connection.execute(text("SELECT version FROM sidrec_schema")).scalar() == 2
        engine.dispose()


def test_training_reads_the_same_events(store, url):
    import polars as pl

    store.append([*events("u", "a", "b"), *events("v", "c", start=1)])
    with snapshot(url) as file:
        frame = pl.read_parquet(file)
        first = file.read_bytes()
    assert frame.rows() == [("u", "a", 0), ("u", "b", 1_000), ("v", "c", 1_000)]
    assert not file.exists()
    with snapshot(url) as file:
        assert file.read_bytes() == first, "the same events are the same source"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("mysql://x/y", "not a store"),
        ("nonsense", "not a store"),
        ("sqlite://", "names no file"),
        ("oracle://user:secret@host/x", "host/x: not a store"),
    ],
)
def test_other_urls_are_refused_without_their_password(wrong, words):
    with pytest.raises(SettingsError, match=words) as refused:
        DatabaseStore(wrong)
    assert "secret" not in str(refused.value)


def test_a_database_that_is_not_there_is_said_without_the_password():
    with pytest.raises(StorageError, match="cannot be used") as refused:
        DatabaseStore("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(refused.value) and refused.value.arguments == ("store",)


def test_a_file_that_is_no_database_is_said(tmp_path):
    (tmp_path / "x.db").write_text("not a database, but long enough to be looked at" * 100)
    with pytest.raises(StorageError, match="cannot be used: file is not a database"):
        DatabaseStore(f"sqlite:///{tmp_path}/x.db")

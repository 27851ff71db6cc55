"""The table of interactions that a service keeps and that training reads: SQLite or PostgreSQL, one schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from sidrec.core.errors import SettingsError, StorageError
from sidrec.core.refusals import refusal
from sidrec.data.schema import ITEM_ID, TIMESTAMP, USER_ID

READS = {"reads_only": True}
"""Execution option of a connection that will not write."""
_BUSY_MS = 10_000
_MIGRATING = 7_362_117
"""The number of our advisory lock: of several workers that start together one migrates."""
_VERSION = Table("sidrec_schema", MetaData(), Column("version", Integer, nullable=False))
EVENTS = Table(
    "sidrec_events",
    MetaData(),
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("event_id", Text, nullable=False, unique=True),
    Column(USER_ID, Text, nullable=False),
    Column(ITEM_ID, Text, nullable=False),
    Column(TIMESTAMP, BigInteger, nullable=False),
    Column("arrived", BigInteger, nullable=False),
)
"""Times are milliseconds since 1970; `arrived` (microseconds) says which came first of two with one time."""
OF_USERS = Index("sidrec_events_of_users", EVENTS.c.user_id, EVENTS.c.timestamp, EVENTS.c.arrived)
IN_ORDER = (EVENTS.c.timestamp, EVENTS.c.arrived, EVENTS.c.number)


def _first(connection: Connection) -> None:
    EVENTS.create(connection)


MIGRATIONS = (_first,)
"""What was done to the schema, in order; the database remembers how many of these it has seen."""


def connected(url: str) -> Engine:
    """The database behind a URL, its schema brought up to date."""
    engine = _engine(url)
    try:
        with engine.begin() as connection:
            _migrate(connection)
    except BaseException as error:
        engine.dispose()
        if isinstance(error, SQLAlchemyError):
            raise unreachable(engine, error) from None
        raise
    return engine


def unreachable(engine: Engine, error: SQLAlchemyError) -> StorageError:
    """A database's refusal in one sentence, without its password."""
    cause = error.__cause__ or error
    why = refusal(cause) or str(cause).strip().split("\n")[0]
    return StorageError(f"the store {engine.url.render_as_string()} cannot be used: {why}.", arguments=("store",))


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql":
            return create_engine(parsed.set(drivername="postgresql+psycopg"), pool_pre_ping=True)
        if parsed.get_backend_name() == "sqlite":
            return _sqlite(parsed.database, url)
    except (ArgumentError, NoSuchModuleError):
        pass
    except ModuleNotFoundError as error:
        words = f"{error.name} is not installed; run: pip install 'sidrec[postgres]'."
        raise SettingsError(words, arguments=("store",)) from None
    shown = url.rpartition("@")[2]
    words = f"{shown}: not a store; write sqlite:///path or postgresql://user@host/name."
    raise SettingsError(words, arguments=("store",))


def _sqlite(database: str | None, url: str) -> Engine:
    if not database or database == ":memory:":
        raise SettingsError(f"{url}: names no file; write sqlite:///path.", arguments=("store",))
    try:
        Path(database).resolve().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        words = f"the store {url} cannot be used: {(error.strerror or str(error)).lower()}."
        raise StorageError(words, arguments=("store",)) from None
    engine = create_engine(f"sqlite:///{database}", connect_args={"isolation_level": None})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        for pragma in (f"busy_timeout={_BUSY_MS}", "journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # a writer takes its place at once: it waits for others instead of failing when it comes to write
        writes = not connection.get_execution_options().get("reads_only")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _migrate(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATING})"))
    _VERSION.create(connection, checkfirst=True)
    found = connection.execute(select(_VERSION.c.version)).scalar()
    if found is None:
        connection.execute(insert(_VERSION).values(version=0))
    done = found or 0
    if done > len(MIGRATIONS):
        raise StorageError(
            f"the store was written by a newer version (schema {done}, known here: {len(MIGRATIONS)}); update sidrec.",
            arguments=("store",),
        )
    for step in MIGRATIONS[done:]:
        step(connection)
    connection.execute(update(_VERSION).values(version=len(MIGRATIONS)))

"""What users did, kept: appended once however often it is sent, read as a history, forgotten when asked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Protocol

from sqlalchemy import Connection, Engine, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from sidrec.data.event_table import EVENTS, IN_ORDER, READS, connected, unreachable


@dataclass(frozen=True)
class Interaction:
    """A user took an item at a time (milliseconds since 1970); equal ids are the same event."""

    event_id: str
    user_id: str
    item_id: str
    timestamp: int


class UserStore(Protocol):
    """All that the service asks of a store."""

    def append(self, events: Sequence[Interaction]) -> int:
        """Keep them, all or none; how many were new. When it returns they are on the disk."""
        ...

    def history(self, user_id: str, newest: int) -> list[str]:
        """The user's newest items, oldest first."""
        ...

    def forget(self, user_id: str) -> int:
        """Remove everything of a user; how many events that were."""
        ...

    def count(self) -> int: ...

    def close(self) -> None: ...


class DatabaseStore:
    """In SQLite or PostgreSQL."""

    def __init__(self, url: str) -> None:
        self._engine: Engine = connected(url)

    def append(self, events: Sequence[Interaction]) -> int:
        insert = postgresql.insert if self._engine.dialect.name == "postgresql" else sqlite.insert
        once = insert(EVENTS).on_conflict_do_nothing(index_elements=[EVENTS.c.event_id]).returning(EVENTS.c.number)
        now = time.time_ns() // 1000
        rows = [{**asdict(event), "arrived": now + place} for place, event in enumerate(events)]
        rows.sort(key=itemgetter("event_id"))  # one order for all writers: no two wait for each other
        with self._writing() as connection:
            return sum(connection.execute(once.values(**row)).first() is not None for row in rows)

    def history(self, user_id: str, newest: int) -> list[str]:
        asked = (
            select(EVENTS.c.item_id)
            .where(EVENTS.c.user_id == user_id)
            .order_by(*(column.desc() for column in IN_ORDER))
            .limit(newest)
        )
        with self._reading() as connection:
            return [str(row.item_id) for row in connection.execute(asked)][::-1]

    def forget(self, user_id: str) -> int:
        with self._writing() as connection:
            return connection.execute(delete(EVENTS).where(EVENTS.c.user_id == user_id)).rowcount

    def count(self) -> int:
        with self._reading() as connection:
            return int(connection.execute(select(func.count()).select_from(EVENTS)).scalar_one())

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise unreachable(self._engine, error) from None

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect().execution_options(**READS) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise unreachable(self._engine, error) from None

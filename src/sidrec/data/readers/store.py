"""The interactions that a service has kept, as a table of one moment: what is read is what is hashed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from sidrec.core.errors import SettingsError
from sidrec.data.schema import ITEM_ID, TIMESTAMP, USER_ID

_ROWS = 100_000


@contextmanager
def snapshot(url: str) -> Iterator[Path]:
    """A Parquet file with all interactions of a store, in order of time; it goes when the block ends."""
    try:
        from sqlalchemy import select

        from sidrec.data.event_table import EVENTS, IN_ORDER, READS, connected
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is not installed; run: pip install 'sidrec[serve]'.") from None

    asked = select(EVENTS.c[USER_ID], EVENTS.c[ITEM_ID], EVENTS.c[TIMESTAMP]).order_by(*IN_ORDER)
    schema = {USER_ID: pl.String, ITEM_ID: pl.String, TIMESTAMP: pl.Int64}
    engine = connected(url)
    try:
        with tempfile.TemporaryDirectory(prefix="sidrec-store-") as folder:
            with engine.connect().execution_options(**READS) as connection:
                rows = connection.execution_options(stream_results=True).execute(asked)
                parts = [pl.DataFrame(list(map(tuple, part)), schema, orient="row") for part in rows.partitions(_ROWS)]
            file = Path(folder) / "interactions.parquet"
            (pl.concat(parts) if parts else pl.DataFrame(schema=schema)).write_parquet(file)
            yield file
    finally:
        engine.dispose()

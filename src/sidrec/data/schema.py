"""Column and file names, in one place."""

from __future__ import annotations

from typing import Literal

SourceFormat = Literal["sequences", "recbole", "amazon", "table"]
"""What can be read from disk."""

USER_ID = "user_id"
ITEM_ID = "item_id"
TIMESTAMP = "timestamp"
RATING = "rating"
TITLE = "title"

# files of a dataset artefact
CATALOG_FILE = "catalog.parquet"
USERS_FILE = "users.parquet"
EVENTS_FILE = "events.parquet"
STATISTICS_FILE = "statistics.json"
PREPARATION_FILE = "preparation.json"

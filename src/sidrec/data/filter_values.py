"""What somebody wrote in a filter as the number a column is compared with; None where it is no such thing."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

from sidrec.data.column_test import Value

YES, NO = ("true", "yes", "1"), ("false", "no", "0")


def number_of(value: Value) -> float | int | None:
    try:
        text = str(value)
        number = int(text) if isinstance(value, int) or text.strip().lstrip("+-").isdigit() else float(text)
    except ValueError:
        return None
    if isinstance(value, date):
        return None
    try:
        return None if math.isnan(number) else number
    except OverflowError:  # a whole number beyond every column
        return math.copysign(math.inf, number > 0 or -1)


def microseconds_of(value: Value) -> int | None:
    """Since 1970; times without a zone are UTC."""
    try:
        if isinstance(value, date) and not isinstance(value, datetime):
            value = value.isoformat()
        time = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    except ValueError:
        return None
    if not isinstance(time, datetime):
        return None
    since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def truth_of(value: Value) -> int | None:
    word = str(value).strip().lower()
    return 1 if word in YES else 0 if word in NO else None

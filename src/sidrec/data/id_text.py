"""Several item ids in one text, as they stand on a command line or in a cell."""

from __future__ import annotations

import csv

from sidrec.core.errors import InputError
from sidrec.core.plain_text import short


def split_ids(text: str) -> list[str]:
    """`a,b,c`, also line by line; an id with a comma in it stands in double quotes."""
    try:
        return [part for row in csv.reader(text.splitlines(), skipinitialspace=True) for part in row if part]
    except csv.Error:
        raise InputError(f"{short(text)} is no list of item ids; write a,b,c.") from None

"""Preparation as one would do it by hand: plain lists, one user and one pass at a time."""

from __future__ import annotations

from collections import Counter

Row = tuple[str, str, int]


def k_core(rows: list[Row], k: int) -> list[Row]:
    """Throw out the first user or item that is too rare, until there is none."""
    while True:
        users, items = Counter(row[0] for row in rows), Counter(row[1] for row in rows)
        kept = [row for row in rows if users[row[0]] >= k and items[row[1]] >= k]
        if kept == rows:
            return rows
        rows = kept


def sequences(rows: list[Row]) -> dict[str, list[str]]:
    """Each user's items, oldest first; equal times stay in the order of the rows."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return {user: [item for _, item, _ in sorted(own, key=lambda row: row[2])] for user, own in found.items()}


def leave_one_out(sequence: list[str]) -> tuple[list[str], str, str]:
    """Train items, validation item, test item."""
    *train, validation, test = sequence
    return train, validation, test


def sequences_file(text: str) -> dict[str, list[str]]:
    """`user TAB items` lines."""
    return {line.split("\t")[0]: line.split("\t")[1].split(" ") for line in text.splitlines()}

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from reference.made_up_runs import made_up_row, made_up_section
from sidrec.reports.runs import RowRuns
from sidrec.reports.target_counts import by_count, counts_table

COUNTS = [0, 0, 1, 2, 3, 5, 6, 90]


def row(label: str, *ranks: list[int]) -> RowRuns:
    """Users whose targets were taken 0, 0, 1, 2, 3, 5, 6 and 90 times in training."""
    made = made_up_row(label, *ranks)
    tests = [replace(run, ranks=run.ranks.with_columns(pl.Series("target_count", COUNTS))) for run in made.test]
    return replace(made, test=tuple(tests))


SEEDS = ([0, -1, -1, -1, 0, 0, 0, -1], [0, 0, -1, -1, 0, 0, 0, -1])


def test_each_bucket_has_its_users_and_their_figure_averaged_over_seeds():
    found = row("a", *SEEDS)
    for low, high, users, value in ((0, 0, 2, 0.75), (1, 2, 2, 0.0), (3, 5, 2, 1.0), (6, None, 2, 0.5)):
        part = by_count(found, "recall@2", low, high)
        assert part is not None
        assert (part.users, part.value) == (users, pytest.approx(value))
        assert part.interval.low <= part.value <= part.interval.high
    assert by_count(found, "recall@2", 7, 89) is None


def test_the_table_says_how_many_users_and_what_is_missing():
    table = counts_table("c", made_up_section(row("a", *SEEDS), made_up_row("gone")))
    assert table.columns == ("row", "0 (2 users)", "1 to 2 (2 users)", "3 to 5 (2 users)", "6 or more (2 users)")
    assert [entry.text for entry in table.rows[0]] == ["a", "0.7500", "0.0000", "1.0000", "0.5000"]
    assert [entry.text for entry in table.rows[1][1:]] == ["not measured"] * 4
    assert ("a", "0", "2", "recall@2", "0.750000") in [line[:5] for line in table.plain]
    assert "recall@2" in table.plain[-1] and len({len(line) for line in table.plain}) == 1

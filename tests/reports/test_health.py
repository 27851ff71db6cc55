from __future__ import annotations

from dataclasses import replace

from sidrec.reports.health import health_table


def test_each_set_of_ids_is_one_row(bench):
    table = health_table(bench)
    assert len(table.rows) == 2  # a seed makes its own
    for entries in table.rows:
        row = dict(zip(table.columns, (entry.text for entry in entries), strict=True))
        assert (row["data"], row["tokenizer"], row["items"], row["colliding after"]) == ("shop", "opq", "20", "0")
        assert all(row.values())


def test_models_without_ids_have_no_table(bench):
    main = bench.sections[0]
    floor = replace(main, rows=tuple(row for row in main.rows if row.label == "popularity"))
    assert health_table(replace(bench, sections=(floor,))) is None

from __future__ import annotations

import pyarrow as pa

from sidrec.pipeline.batch_parts import Parts, packed


def test_parts_may_come_in_any_order_and_only_what_is_missing_is_made(tmp_path):
    parts = Parts(tmp_path / "work", tmp_path / "out.parquet")
    for begin, rows in ((0, 10), (20, 10), (30, 3)):
        parts.put(begin, packed(pa.table({"user_id": list(range(begin, begin + rows))})))
    assert parts.n_finished == 10
    assert list(parts.missing(45, 10)) == [(10, 10), (30, 10), (40, 5)], "the part of 3 rows is of another cut"

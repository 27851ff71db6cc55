"""Users by their ids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.readers.columns import Columns
from sidrec.data.synthetic import cycle
from sidrec.data.user_histories import UserHistories

TEXT = "Kunde;sku;Datum\nU1;a;2024-01-03\nU2;x;2024-01-01\nU1;b;2024-01-01\nU1;c;2024-01-02\n"
COLUMNS = Columns.of({"user_id": "Kunde", "item_id": "sku", "timestamp": "Datum"})


def test_a_file_and_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "week.csv").write_text(TEXT, encoding="utf-8")
    known = UserHistories.read(tmp_path / "week.csv", COLUMNS)
    assert (known.of("U1"), known.of("U2")) == (["b", "c", "a"], ["x"])
    data = cycle(n_items=8, n_users=5, length=4)
    data.save(tmp_path / "data")
    user, ids = data.user_ids[2], data.catalog.item_ids
    assert UserHistories.read(tmp_path / "data").of(user) == ids.gather(data.sequences[2]).to_list()
    assert data.history(user) == ids.gather(data.sequences[2]).to_list()


def test_many_at_once_and_nobody(tmp_path: Path) -> None:
    (tmp_path / "week.csv").write_text(TEXT, encoding="utf-8")
    known = UserHistories.read(tmp_path / "week.csv", COLUMNS)
    rows = known.find(pl.Series(["U2", "nobody", "U1", "U2"]))
    assert (rows >= 0).tolist() == [True, False, True, True]
    found = [known.item_ids.gather(row).to_list() for row in known.histories(rows)]
    assert found == [["x"], [], ["b", "c", "a"], ["x"]]
    assert known.find(pl.Series([1], dtype=pl.Int64)).tolist() == [-1]
    assert len(known.histories(np.array([], dtype=np.int64))) == 0
    with pytest.raises(InputError, match=r"week.csv: has no user 'U11' among its 2; did you mean 'U1'\?"):
        known.of("U11")
    with pytest.raises(InputError, match="give a history, or interactions that have the user"):
        known.of("somebody")

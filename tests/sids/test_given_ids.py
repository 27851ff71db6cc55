"""Semantic IDs of somebody else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sidrec
from sidrec.core.errors import InputError
from sidrec.data.catalog import Catalog
from sidrec.data.synthetic import cycle
from sidrec.sids.given_ids import given_ids

CATALOG = Catalog(pl.DataFrame({"item_id": ["a", "b", "c"]}))
FRAME = pl.DataFrame({"item_id": ["c", "z", "a", "b"], "c1": [0, 7, 2, 1], "c2": [3, 0, 3, 0]})
CODES = [[2, 3], [1, 0], [0, 3]]


@pytest.mark.parametrize("name", ["ids.csv", "ids.parquet", "ids.jsonl"])
def test_codes_are_found_by_id(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    {"csv": FRAME.write_csv, "parquet": FRAME.write_parquet, "jsonl": FRAME.write_ndjson}[name[4:]](path)
    found = given_ids(path, CATALOG)
    assert found.ids.codes.tolist() == CODES
    assert found.ids.codebook_sizes == (8, 4)
    assert found.ids.item_ids == ["a", "b", "c"]
    assert found.ids.fingerprint == given_ids(FRAME, CATALOG).ids.fingerprint
    assert found.ids.fingerprint == given_ids(pd.DataFrame(FRAME.to_dict(as_series=False)), CATALOG).ids.fingerprint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sku,c1\na,1\n", "no column item_id; it has: sku, c1"),
        ("item_id\na\n", "has no codes; give the columns item_id, c1, c2"),
        ("item_id,c1\na,1\nb,2\n", "no ID for 1 of 3 items, first 'c'"),
        ("item_id,c1\na,1\nb,-2\nc,1\n", r"column c1: item 'b' has '-2.0'; codes are whole numbers from 0"),
        ("item_id,c1\na,1\nb,1.5\nc,1\n", "column c1: item 'b' has '1.5'"),
        ("item_id,c1\na,1\nb,\nc,1\n", "column c1: item 'b' has nothing"),
        ("item_id,c1\na,1\nb,red\nc,1\n", "column c1: item 'b' has 'red'"),
        ("item_id,c1\na,1\na,2\n", "row 3, column item_id: item 'a' stands already in row 2"),
        ("item_id,c1\na,1e7\nb,1\nc,99999999\n", "'99999999.0'; codes are whole numbers"),
    ],
)
def test_what_cannot_be_codes_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "ids.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        given_ids(tmp_path / "ids.csv", CATALOG)


@pytest.mark.slow
def test_a_model_is_trained_on_them_and_says_so_about_new_items(tmp_path: Path) -> None:
    data = cycle(n_items=20, n_users=60, length=6)
    ids = data.catalog.item_ids.to_list()
    own = pl.DataFrame({"item_id": ids, "c1": [n // 5 for n in range(20)], "c2": [n % 5 for n in range(20)]})
    own.write_csv(tmp_path / "ids.csv", separator=";")
    model = sidrec.LLaDARec(d_model=16, n_heads=2, n_layers=1, beam_size=10, training={"epochs": 1})
    model.use_semantic_ids(tmp_path / "ids.csv", data)
    model.fit(data, out=tmp_path / "model")
    loaded = sidrec.load(tmp_path / "model")
    assert isinstance(loaded, sidrec.LLaDARec)
    np.testing.assert_array_equal(loaded.semantic_ids.codes, own.select("c1", "c2").to_numpy())
    assert loaded.recommend([[ids[0]]], k=3).item_ids == model.recommend([[ids[0]]], k=3).item_ids
    assert loaded.origin(data.fingerprint) == model.origin(data.fingerprint)
    with pytest.raises(InputError, match="these semantic IDs were given"):
        loaded.add_items(pl.DataFrame({"item_id": ["new"], "title": ["x"]}))

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.core.artifacts import Origin, write
from sidrec.core.errors import ArtifactError, InputError
from sidrec.sids.semantic_ids import SemanticIds


def small() -> SemanticIds:
    codes = np.array([[0, 1], [2, 1], [0, 1], [1, 0]], np.int32)
    return SemanticIds(codes, (3, 2), ["a", "b", "c", "d"])


def test_items_of_an_id_in_ascending_order() -> None:
    found = small().items_of(np.array([[0, 1], [2, 1], [2, 0], [0, 7], [-1, 1]]))
    assert [row.tolist() for row in found] == [[0, 2], [1], [], [], []]


def test_counts() -> None:
    assert (small().n_items, small().n_codes, small().n_unique, small().n_colliding) == (4, 2, 3, 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.sampled_from([(2, 3), (4,), (256,) * 12]), st.integers(0, 99))
def test_items_of_agrees_with_looking_at_every_item(n_items: int, sizes: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, sizes, (n_items, len(sizes))).astype(np.int32)
    ids = SemanticIds(codes, sizes, [str(item) for item in range(n_items)])
    for row, found in zip(codes, ids.items_of(codes), strict=True):
        assert found.tolist() == [item for item in range(n_items) if codes[item].tolist() == row.tolist()]


def test_new_items_stand_behind_the_old() -> None:
    more = small().with_items(np.array([[2, 0]], np.int32), ["e"])
    assert more.item_ids == ["a", "b", "c", "d", "e"]
    assert more.codes[:4].tobytes() == small().codes.tobytes()


@pytest.mark.parametrize("n_codes", [1, 2])
def test_files_bring_it_back(tmp_path: Path, n_codes: int) -> None:
    ids = SemanticIds(small().codes[:, :n_codes], (3, 2)[:n_codes], ["a", "b", "007", "ü"])
    with write(tmp_path / "ids", Origin("sids")) as directory:
        ids.write_files(directory)
    again = SemanticIds.load(tmp_path / "ids")
    assert again.codes.tolist() == ids.codes.tolist() and again.codes.dtype == np.int32
    assert (again.item_ids, again.codebook_sizes) == (ids.item_ids, ids.codebook_sizes)
    assert again.fingerprint == Origin("sids").fingerprint


def test_codes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="a row per item"):
        SemanticIds(np.zeros((2, 2), np.int32), (3, 3), ["a"])
    with pytest.raises(InputError, match="outside their codebooks"):
        SemanticIds(np.array([[3]], np.int32), (3,), ["a"])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("codebooks.json", '{"codebook_sizes": []}', "codebooks must have at least one code each"),
        ("codebooks.json", '{"codebook_sizes": [2, 0]}', "codebooks must have at least one code each"),
        ("codebooks.json", '{"codebook_sizes": [2, 2000000000]}', "and 16,777,216 in all at most"),
        ("codebooks.json", '{"codebook_sizes": "2"}', "codebook_sizes: input should be a valid array"),
        ("codebooks.json", '{"codebook_sizes": [2, 2, 2]}', "has no column code_2"),
        ("codes.parquet", {"code_0": [0, 7]}, "has codes outside their codebooks"),
        ("codes.parquet", {"code_0": [0, -1]}, "column code_0 has numbers below zero"),
        ("codes.parquet", {"item_id": ["a", "a"]}, "column item_id has 'a' more than once"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, name, content, said):
    with write(tmp_path / "ids", Origin("sids")) as directory:
        SemanticIds(np.array([[0, 1], [1, 0]], np.int32), (2, 2), ["a", "b"]).write_files(directory)
        if isinstance(content, str):
            (directory / name).write_text(content)
        else:
            changed = [pl.Series(column, values) for column, values in content.items()]
            frame = pl.read_parquet(directory / name).with_columns(changed)
            frame.write_parquet(directory / name)
    with pytest.raises(ArtifactError, match=said):
        SemanticIds.load(tmp_path / "ids")

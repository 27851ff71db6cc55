from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

import sidrec
from sidrec.core.errors import InputError
from sidrec.data.catalog import Catalog
from sidrec.embeddings.given_vectors import GivenVectors, as_given, read_vectors

CATALOG = Catalog(pl.DataFrame({"item_id": ["a", "b", "c"]}))
ROWS = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)


def in_order(path):
    return read_vectors(path).in_catalogue_order(CATALOG)


def test_rows_without_ids_are_in_catalogue_order(tmp_path):
    np.save(tmp_path / "v.npy", ROWS.astype(np.float64))
    save_file({"vectors": ROWS, "other": ROWS * 0}, tmp_path / "v.safetensors")
    for name in ("v.npy", "v.safetensors"):
        found = in_order(tmp_path / name)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, ROWS)


@pytest.mark.parametrize("layout", ["list", "array", "columns"])
def test_parquet_rows_are_found_by_id(tmp_path, layout):
    frame = pl.DataFrame({"item_id": ["c", "x", "a", "b"], "u": [5.0, 0.0, 1.0, 3.0], "v": [6.0, 0.0, 2.0, 4.0]})
    if layout != "columns":
        lists = frame.select("item_id", vector=pl.concat_list("u", "v"))
        frame = lists if layout == "list" else lists.cast({"vector": pl.Array(pl.Float64, 2)})
    frame.write_parquet(tmp_path / "v.parquet")
    np.testing.assert_array_equal(in_order(tmp_path / "v.parquet"), ROWS)


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        (ROWS[:2], None, "2 vectors for 3 items"),
        (ROWS[0], None, "a table of vectors is needed"),
        (ROWS[:2], ["a", "c"], "no vector for 1 of 3 items, first 'b'"),
        (ROWS, ["a", "b", "b"], "item 'b' has more than one vector"),
        (ROWS, ["a", "b"], "2 ids for 3 vectors"),
        (np.where(ROWS == 4, np.nan, ROWS), None, "the vector of item 'b' holds NaN or infinity"),
        (np.where(ROWS == 5, np.inf, ROWS), ["a", "b", "c"], "the vector of item 'c' holds NaN or infinity"),
    ],
)
def test_unusable_vectors_are_named(vectors, ids, message):
    with pytest.raises(InputError, match=message):
        GivenVectors(vectors, "mine", ids).in_catalogue_order(CATALOG)


def test_unreadable_files_are_named(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "words.npy", np.array([["x"]]))
    (tmp_path / "broken.safetensors").write_bytes(b"no")
    (tmp_path / "broken.parquet").write_bytes(b"no")
    pl.DataFrame({"id": ["a"]}).write_parquet(tmp_path / "ids.parquet")
    ragged = {"item_id": ["a", "b"], "vector": [[1.0, 2.0], [1.0]]}
    pl.DataFrame(ragged).write_parquet(tmp_path / "ragged.parquet")
    hole = {"item_id": ["a", "b", "c"], "vector": [[1.0, 2.0], [1.0, None], [1.0, 1.0]]}
    pl.DataFrame(hole).write_parquet(tmp_path / "hole.parquet")
    words = {"item_id": ["a"], "colour": ["red"]}
    pl.DataFrame(words).write_parquet(tmp_path / "words.parquet")
    pl.DataFrame(schema={"item_id": pl.String, "vector": pl.List(pl.Float32)}).write_parquet(tmp_path / "empty.parquet")
    for name, message in {
        "objects.npy": "is not a plain .npy array",
        "words.npy": "instead of numbers",
        "broken.safetensors": "is not a safetensors file",
        "broken.parquet": "is not a readable parquet file",
        "ids.parquet": "has no column item_id",
        "ragged.parquet": "the vector of item 'b' has 1 numbers, the first one 2",
        "hole.parquet": "the vector of item 'b' holds NaN",
        "words.parquet": "instead of numbers",
        "empty.parquet": "has no rows",
        "absent.npy": "no such file of vectors",
        "vectors.xlsx": "vectors are read from .npy, .safetensors, .parquet, .csv",
    }.items():
        with pytest.raises(InputError, match=message):
            in_order(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.csv", "item_id,x,y\nc,5,6\na,1,2\nb,3,4\nz,9,9\n"),
        ("v.csv", "item_id;x;y\nc;5,0;6\na;1;2\nb;3;4\n"),
        ("v.jsonl", '{"item_id": "c", "vector": [5, 6]}\n{"item_id": "a", "vector": [1, 2.0]}\n'),
    ],
)
def test_text_tables_are_found_by_id(tmp_path, name, text):
    (tmp_path / name).write_text(text + ('{"item_id": "b", "vector": [3, 4]}\n' if name == "v.jsonl" else ""))
    np.testing.assert_array_equal(in_order(tmp_path / name), ROWS)


def test_vectors_in_memory():
    frame = pl.DataFrame({"item_id": ["c", "a", "b"], "x": [5, 1, 3], "y": [6, 2, 4]})
    for value in (ROWS.astype(np.float64), frame, frame.to_pandas()):
        np.testing.assert_array_equal(as_given(value).in_catalogue_order(CATALOG), ROWS)
    with pytest.raises(InputError, match="the given vectors, column colour: holds String instead of numbers"):
        as_given(frame.with_columns(colour=pl.lit("red")))


def test_embed_takes_vectors_in_memory():
    data = sidrec.read_dataset(pl.DataFrame({"user_id": ["u"] * 3, "item_id": ["a", "b", "c"], "timestamp": [1, 2, 3]}))
    np.testing.assert_array_equal(sidrec.embed(data, vectors=ROWS).vectors, ROWS)

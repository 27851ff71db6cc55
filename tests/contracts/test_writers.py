"""Every writer of an output: while another one is at it, it says who that is and touches nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from reference.other_writer import other_writer
from reference.small_plan import small_plan, small_shop
from sidrec.core.errors import StorageError
from sidrec.data.build_dataset import PrepareSettings
from sidrec.data.dataset import Dataset
from sidrec.data.download import download
from sidrec.data.prepare import find_source, prepare
from sidrec.embeddings.embed import embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.evaluation.evaluate import evaluate_saved
from sidrec.models.popularity import Popularity
from sidrec.models.registry import find_model
from sidrec.pipeline.benchmark.runner import benchmark
from sidrec.pipeline.recipes import Recipe
from sidrec.pipeline.recommend_many import recommend_many
from sidrec.pipeline.train import train
from sidrec.sids.tokenize import tokenize

SAS = {"d_model": 8, "training": {"epochs": 1}}
SPLIT = PrepareSettings()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    data = Dataset.load(small_shop(folder))
    Popularity().fit(data, out=folder / "popularity")
    pl.DataFrame({"user_id": ["u"], "history": [["0", "1"]]}).write_parquet(folder / "users.parquet")
    (folder / "reviews.csv").write_text("user_id,item_id,timestamp\n" + "".join(f"u,i{n},{n}\n" for n in range(4)))
    return folder


def vectors() -> ItemEmbeddings:
    numbers = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    return ItemEmbeddings([f"i{n}" for n in range(20)], numbers, np.zeros(20, bool), fingerprint="f")


Writer = Callable[[Path, Path], Any]
WRITERS: dict[str, Writer] = {
    "prepare": lambda home, out: prepare(find_source(home / "reviews.csv"), out, SPLIT),
    "embed": lambda home, out: embed_catalog(
        Dataset.load(home / "shop").catalog, EmbeddingSettings(encoder="tfidf"), out=out
    ),
    "tokenize": lambda home, out: tokenize(vectors(), out=out),
    "fit": lambda home, out: find_model("sasrec-ce").make(**SAS).fit(Dataset.load(home / "shop"), out=out),
    "train": lambda home, out: train(home / "shop", out, Recipe("sasrec-ce", SAS, "here")),
    "restart": lambda home, out: train(home / "shop", out, Recipe("sasrec-ce", SAS, "here"), unfinished="restart"),
    "save": lambda home, out: Popularity.load(home / "popularity").save(out),
    "evaluate": lambda home, out: evaluate_saved(home / "popularity", Dataset.load(home / "shop"), out),
    "recommend": lambda home, out: recommend_many(
        Popularity.load(home / "popularity"), home / "users.parquet", out.with_suffix(".parquet")
    ),
    "benchmark": lambda home, out: benchmark(small_plan(home / "shop"), out),
    "download": lambda home, out: download(["some/out.csv"], out.parent, base_url="http://nowhere.invalid"),
}
NAMES = {"recommend": "out.parquet", "download": "out.csv"}


@pytest.mark.parametrize("verb", WRITERS)
def test_a_second_writer_ends_with_a_sentence(verb, folder, tmp_path):
    out = tmp_path / NAMES.get(verb, "out")
    (tmp_path / f".{out.name}.work-0123456789ab").mkdir()  # the first one's unfinished work
    with other_writer(out):
        before = sorted(tmp_path.iterdir())
        with pytest.raises(StorageError, match=rf"{out.name}: is being written by process \d+ on .*; wait for its end"):
            WRITERS[verb](folder, tmp_path / "out")
        assert sorted(tmp_path.iterdir()) == before

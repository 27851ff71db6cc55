"""From interactions to recommendations with everything in an object store, each verb as if on a machine of its own."""

from __future__ import annotations

import io
import json
import shutil
import sys

import polars as pl
import pytest
from fastapi.testclient import TestClient

import sidrec
from reference.object_store import client, keys
from reference.tiny_recipe import TINY
from sidrec.cli.app import main
from sidrec.core.places import mirror
from sidrec.serving.run import loaded_app
from sidrec.serving.settings import ServeSettings, named_models

pytestmark = pytest.mark.slow
IDS = ["--set", "n_codes=3", "--set", "codebook_size=16", "--set", "pca=16"]
ITEMS = [f"i{n}" for n in range(24)]


@pytest.fixture
def run(monkeypatch, capsys):
    """One command on a machine that has mirrored nothing; the mirror is never spoken of."""

    def run(*words: str) -> tuple[int, str, str]:
        shutil.rmtree(mirror(), ignore_errors=True)
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        assert str(mirror()) not in out + err
        return int(stop.value.code or 0), out, err

    return run


@pytest.fixture
def shop(bucket, s3_server):
    """Interactions, items, users and a recipe as files in a bucket."""
    rows = [(f"u{u}", ITEMS[(u * 7 + t * (1 + u % 3)) % 24], t) for u in range(50) for t in range(5)]
    titles = [f"{kind} number {n}" for n in range(8) for kind in ("lamp", "cup", "knife")]
    files = {
        "raw/interactions.parquet": parquet(pl.DataFrame(rows, ["user_id", "item_id", "timestamp"], orient="row")),
        "raw/items.parquet": parquet(pl.DataFrame({"item_id": ITEMS, "title": titles})),
        "users.csv": b"user_id\nu1\nu2\nu3\n",
        "gone.csv": b"item_id\ni3\n",
        "tiny.toml": TINY.encode(),
    }
    for name, content in files.items():
        client(s3_server).put_object(Bucket=bucket.removeprefix("s3://"), Key=name, Body=content)
    return bucket


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def test_the_whole_way(run, shop, s3_server):
    steps = [
        ["data", "prepare", f"{shop}/raw", "--out", f"{shop}/runs/data"],
        ["embed", f"{shop}/runs/data", "--out", f"{shop}/runs/emb", "--encoder", "tfidf"],
        ["tokenize", f"{shop}/runs/emb", "--out", f"{shop}/runs/ids", "--tokenizer", "rq-kmeans", *IDS],
        ["train", "--data", f"{shop}/runs/data", "--sids", f"{shop}/runs/ids", "--out", f"{shop}/runs/model"],
        ["evaluate", f"{shop}/runs/model"],
        ["items", "remove", f"{shop}/runs/model", "--items", f"{shop}/gone.csv"],
        ["recommend", f"{shop}/runs/model", "--input", f"{shop}/users.csv", "--output", f"{shop}/recs.parquet"],
    ]
    steps[3] += ["--recipe", f"{shop}/tiny.toml"]
    for words in steps:
        code, out, err = run(*words)
        assert code == 0, err
        assert "s3://" in out
    assert "wrote " + f"{shop}/recs.parquet" in out
    assert "nothing to do" in run(*steps[1])[2] and "skipped" in run(*steps[-1])[2]
    found = client(s3_server).get_object(Bucket=shop.removeprefix("s3://"), Key="recs.parquet")["Body"].read()
    recommended = pl.read_parquet(io.BytesIO(found))
    assert recommended["user_id"].to_list() == ["u1", "u2", "u3"]
    assert "i3" not in recommended["item_ids"].explode().to_list()
    assert run("data", "describe", f"{shop}/runs/data", "--json")[0] == 0
    assert "model-evaluation/manifest.json" in " ".join(keys(client(s3_server), shop.removeprefix("s3://")))
    _python_does_the_same(shop, recommended)


def _python_does_the_same(shop: str, recommended: pl.DataFrame) -> None:
    shutil.rmtree(mirror())
    model = sidrec.load(f"{shop}/runs/model")
    model.save(f"{shop}/runs/copy")
    data = sidrec.Dataset.load(f"{shop}/runs/data")
    assert model.recommend([data.history("u1")]).item_ids[0] == recommended["item_ids"][0].to_list()
    assert sidrec.evaluate(f"{shop}/runs/copy").users == 50
    assert sidrec.read_dataset(f"{shop}/raw").n_items == 24
    settings = ServeSettings(models=named_models([f"best={shop}/runs/copy", f"{shop}/runs/model"]), store=None)
    with TestClient(loaded_app(settings)) as service:
        answer = service.post("/v1/recommend", json={"history": data.history("u1")}).json()
        assert [item["item_id"] for item in answer["items"]] == recommended["item_ids"][0].to_list()
        assert [row["name"] for row in service.get("/v1/models").json()["models"]] == ["best", "model"]


def test_data_here_and_the_model_there(run, shop, tmp_path):
    assert run("data", "prepare", f"{shop}/raw", "--out", f"file://{tmp_path}/data")[0] == 0
    assert run("train", "--data", f"{tmp_path}/data", "--model", "popularity", "--out", f"{shop}/m")[0] == 0
    assert run("data", "prepare", f"{shop}/raw", "--out", f"{shop}/data")[0] == 0
    assert run("train", "--data", f"{shop}/data", "--model", "popularity", "--out", f"{tmp_path}/m")[0] == 0
    for model in (f"{shop}/m", f"{tmp_path}/m"):
        code, out, err = run("recommend", model, "--user", "u1", "--json")
        assert code == 0, err
        assert len(json.loads(out)["history"]) == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "s3://nobody-has-this/model"], "s3://nobody-has-this: no such bucket"),
        (["embed", "BUCKET/none", "--out", "e"], "BUCKET/none: no such directory; make one with `sidrec data prepare`"),
        (["tune", "--data", "d", "--out", "BUCKET/t"], "`sidrec tune` works in a folder of this machine"),
        (["report", "BUCKET/runs", "--out", "r"], "`sidrec report` works in a folder of this machine"),
        (["embed", "BUCKET/raw", "--out", "e"], "BUCKET/raw: has no manifest.json, so it was never finished"),
        (["data", "prepare", "BUCKET/raw", "--out", "BUCKET/raw"], "BUCKET/raw: holds files that sidrec did not write"),
    ],
)
def test_mistakes_are_one_sentence(run, shop, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*(word.replace("BUCKET", shop) for word in words))
    assert code == 2 and err.startswith("sidrec: ") and err.count("\n") == 1
    assert said.replace("BUCKET", shop) in err

"""A tiny shop, and every verb that writes, each with another form of itself that leaves another version."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from disturb.process import Body, command, library, run

SERVER = "CAMPAIGN_SERVER"

RECIPE = """
[model]
key = "llada-rec"
d_model = 8
n_heads = 2
n_layers = 1
max_history = 5
[model.search]
beam_size = 5
[model.embedding]
encoder = "tfidf"
[model.tokenize]
tokenizer = "rq-kmeans"
options = { n_codes = 2, codebook_size = 8, pca = 4 }
[model.training]
epochs = 2
batch_size = 32
validate_every = 1
checkpoint_seconds = 0
"""
OTHER_RECIPE = """
[model]
key = "sasrec-ce"
d_model = 8
[model.training]
epochs = 2
batch_size = 32
validate_every = 1
checkpoint_seconds = 0
"""
PLUS_RECIPE = """
[model]
key = "llada-rec-plus"
d_model = 8
n_layers = 1
max_history = 5
[model.embedding]
encoder = "tfidf"
[model.tokenize]
tokenizer = "rq-kmeans"
options = { n_codes = 2, codebook_size = 8, pca = 4 }
[model.training]
epochs = 2
batch_size = 32
min_steps = 1
validate_every = 1
checkpoint_seconds = 0
"""
PLAN = """
title = "Small"
scale = "tiny"
seeds = [0]
[budget]
epochs = 1
[datasets]
shop = "data"
[settings]
d_model = 8
n_layers = 1
n_heads = 2
[settings.embedding]
encoder = "tfidf"
[settings.tokenize]
tokenizer = "rq-kmeans"
options = { n_codes = 2, codebook_size = 8, pca = 4 }
[settings.training]
batch_size = 32
[[section]]
name = "main-table"
title = "Models"
baseline = "popularity"
models = ["popularity", "sasrec-ce", "llada-rec"]
"""


@dataclass(frozen=True)
class Verb:
    """A command that writes `out`; `other` writes another version of it to the same place."""

    name: str
    body: Body
    other: Body
    out: str = "out"
    per_file: bool = False
    """True where the output is a folder of outputs, each of them whole, and not one that changes in one step."""
    is_command: bool = True
    """False for calls of the library, which leave signals to whoever calls it."""
    weight: int = 4
    """How often it is tried, against the others: what takes long is tried less."""


def _change_items(item_id: str) -> Body:
    def body() -> None:
        import polars as pl

        import sidrec

        model = sidrec.load("model")
        model.add_items(pl.DataFrame({"item_id": [item_id], "title": [f"a new {item_id}"]}))
        model.remove_items(["i1"])
        model.save(Path("out"), replace=True)

    return library(body)


def _verb(name: str, words: str, other: str, **facts: object) -> Verb:
    """Each of the two may replace what the other wrote."""
    return Verb(name, command(f"{words} --replace"), command(f"{other} --replace"), **facts)


def download() -> None:
    """From a server of our own, see `serving`."""
    command(f"data download amazon-2023/Shop --base-url {os.environ[SERVER]} --out out")()


@contextmanager
def serving(place: Path) -> Iterator[None]:
    """Inside the block there is a server with the files of one data set."""
    from sidrec.data.download import amazon_files

    for file in amazon_files("amazon-2023/Shop"):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_bytes(random.Random(file).randbytes(300_000))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(place)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while server.poll() is None and not _answers(port):
        time.sleep(0.1)
    os.environ |= {SERVER: f"http://127.0.0.1:{port}", "no_proxy": "127.0.0.1"}
    try:
        yield
    finally:
        server.kill()
        server.wait()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


PREPARE = "data prepare --interactions reviews.csv --items items.csv --out out"
TOKENIZE = "tokenize emb --tokenizer rq-kmeans --set n_codes=2 --set codebook_size=8 --set pca=4 --out out"
TRAIN = "train --data data --recipe tiny.toml --out out"
VQVAE = (
    "tokenize emb --set n_codes=2 --set codebook_size=8 --set pca=4 --set hidden=[8]"
    " --set training.epochs=2 --set training.checkpoint_seconds=0 --out out"
)
PLUS = "train --data data --recipe plus.toml --out out"
SASREC = "train --data data --recipe sasrec.toml --out out"
POPULARITY = "train --data data --model popularity --out out"
FROM = "train --from model --data data2 --out out"
ADD = "items add model --items new.csv --out out"
RECOMMEND = "recommend model --input users.parquet --output out.parquet --batch-users 8"
VERBS = (
    Verb("data download", download, download, per_file=True),
    _verb("data prepare", PREPARE, f"{PREPARE} --max-history 5"),
    _verb("embed", "embed data --encoder tfidf --out out", "embed data --encoder tfidf --fields title --out out"),
    _verb("tokenize", TOKENIZE, f"{TOKENIZE} --set seed=1"),
    _verb("tokenize vqvae", VQVAE, f"{VQVAE} --set seed=1", weight=2),
    _verb("train llada-rec", TRAIN, f"{TRAIN} --set model.training.seed=1", weight=3),
    _verb("train llada-rec-plus", PLUS, f"{PLUS} --set model.training.seed=1", weight=2),
    _verb("train sasrec-ce", SASREC, f"{SASREC} --set model.training.seed=1", weight=3),
    _verb("train --from", FROM, f"{FROM} --set training.seed=1", weight=3),
    _verb("train popularity", POPULARITY, POPULARITY.replace("data data", "data data2")),
    _verb("evaluate", "evaluate model --out out", "evaluate model --split validation --out out"),
    _verb("recommend", RECOMMEND, f"{RECOMMEND} -k 3", out="out.parquet"),
    _verb("items add", ADD, ADD.replace("add", "remove").replace("new", "gone")),
    Verb("add and remove items", _change_items("new-1"), _change_items("new-2"), is_command=False),
    _verb(
        "benchmark",
        "benchmark plan.toml --out out",
        "benchmark plan.toml --epochs 2 --out out",
        per_file=True,
        weight=2,
    ),
    _verb("report", "report bench --examples 1 --out out", "report bench --examples 0 --out out"),
    _verb("export", "export model --out out", "export model2 --out out", weight=1),
)


def write_tables(home: Path) -> None:
    """The shop's tables and the recipes of its models."""
    draw = random.Random(1)
    rows = [f"u{user},i{draw.randrange(12)},{100 * user + step}" for user in range(30) for step in range(7)]
    (home / "reviews.csv").write_text("user_id,item_id,timestamp\n" + "\n".join(rows) + "\n", encoding="utf-8")
    words = ["red lamp", "blue lamp", "oak table", "pine table", "small rug", "large rug"]
    items = [f"i{n},{words[n % 6]} number {n},Shop {n % 3}" for n in range(12)]
    (home / "items.csv").write_text("item_id,title,brand\n" + "\n".join(items) + "\n", encoding="utf-8")
    (home / "new.csv").write_text("item_id,title\nnew-1,a green lamp\nnew-2,a round rug\n", encoding="utf-8")
    (home / "gone.csv").write_text("item_id\ni3\ni5\n", encoding="utf-8")
    (home / "tiny.toml").write_text(RECIPE, encoding="utf-8")
    (home / "plus.toml").write_text(PLUS_RECIPE, encoding="utf-8")
    (home / "sasrec.toml").write_text(OTHER_RECIPE, encoding="utf-8")
    (home / "plan.toml").write_text(PLAN, encoding="utf-8")


def build(home: Path) -> None:
    """The inputs of every verb, made by the verbs themselves."""
    write_tables(home)
    for body in (
        command(PREPARE.replace("--out out", "--out data")),
        command(PREPARE.replace("--out out", "--out data2 --max-history 5")),
        command("embed data --encoder tfidf --out emb"),
        command("embed data --encoder tfidf --fields title --out emb2"),
        command(TOKENIZE.replace("--out out", "--out ids")),
        command(TOKENIZE.replace("--out out", "--out ids2 --set seed=1")),
        command(TRAIN.replace("--out out", "--out model")),
        command(TRAIN.replace("--out out", "--out model2 --set model.training.seed=1")),
        command(POPULARITY.replace("--out out", "--out pop")),
        command(SASREC.replace("--out out", "--out sas")),
        command(PLUS.replace("--out out", "--out plus")),
        command("export model --out graphs"),
        command("evaluate model --out eval"),
        command("evaluate model --split validation --out eval2"),
        command("benchmark plan.toml --out bench"),
        _users,
    ):
        ended = run(body, home, home / "tmp" / "said")
        if ended.code != 0:
            raise SystemExit(f"the campaign cannot begin: {ended.words}")
    (home / "tmp" / "said").unlink()


def _users() -> None:
    import polars as pl

    rows = [[f"i{n % 12}", f"i{n * 5 % 12}"] for n in range(30)]
    pl.DataFrame({"user_id": [f"u{n}" for n in range(30)], "history": rows}).write_parquet("users.parquet")

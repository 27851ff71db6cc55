"""Readers of an artefact that is being replaced all the time: every load sees one whole version."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import time
from pathlib import Path
from random import Random

from disturb.findings import Finding
from disturb.ground import Ground
from disturb.process import run, start
from disturb.shop import Verb

KIND = "loads"
PER_TRIAL = 50
SWAPPED = {"model": "model2", "dataset": "data2", "embeddings": "emb2", "sids": "ids2", "evaluation": "eval2"}
_FIRST = {"model": "model", "dataset": "data", "embeddings": "emb", "sids": "ids", "evaluation": "eval"}


def load(ground: Ground, kind: str, draw: Random, name: str, n_loads: int = PER_TRIAL) -> Finding:
    """A writer swaps two versions at one place while a reader loads, again and again; both through the library."""
    finding = Finding(KIND, kind)
    nothing = Verb(kind, lambda: None, lambda: None)
    with ground.home(nothing, name) as home:
        versions = [home.path / _FIRST[kind], home.path / SWAPPED[kind]]
        writer = start(lambda: _swap(versions, home.out, draw), home.path, home.said.with_suffix(".writer"))
        while not home.out.exists() and writer.running():
            time.sleep(0.01)
        ended = run(lambda: _read(kind, versions, home.out, n_loads), home.path, home.said)
        writer.send(signal.SIGKILL)
        writing = writer.wait()
        writer.said.unlink(missing_ok=True)
    if writing.code != -signal.SIGKILL:
        finding.fault("tracebacks", f"the writer ended: {writing.words[-1500:]}")
    if ended.code != 0:
        finding.fault("tracebacks", f"the reader ended with {ended.code}: {ended.words[-1500:]}")
        return finding
    said = json.loads(ended.words.splitlines()[-1])
    finding.tries = said["loads"]
    for words in said["wrong"]:
        finding.fault("broken", words)
    return finding


def _swap(versions: list[Path], out: Path, draw: Random) -> None:
    """Put the versions there in turn, as every writer does, without a pause worth the name."""
    from sidrec.core.artifacts import Origin, open_artifact, write
    from sidrec.core.replacing import replacing

    sources = [open_artifact(path) for path in versions]
    while True:
        for source in sources:
            facts = source.manifest
            origin = Origin(source.kind, facts["settings"], facts["made_from"], facts["seed"])
            with replacing(), write(out, origin) as folder:
                for file in facts["files"]:
                    (folder / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source.path / file, folder / file)
            time.sleep(draw.uniform(0, 0.01))


def _read(kind: str, versions: list[Path], out: Path, n_loads: int) -> None:
    whole = {_digest(kind, path) for path in versions}
    if len(whole) != len(versions):
        raise RuntimeError("the versions cannot be told apart")
    wrong = []
    for _ in range(n_loads):
        try:
            if _digest(kind, out) not in whole:
                wrong.append("a load mixed two versions")
        except Exception as error:
            wrong.append(f"a load failed: {type(error).__name__}: {error}")
    print(json.dumps({"loads": n_loads, "wrong": wrong}))


def _digest(kind: str, path: Path) -> str:
    """A hash of everything that a reader gets to see."""
    return hashlib.sha256(repr(_seen(kind, path)).encode()).hexdigest()


def _seen(kind: str, path: Path) -> object:
    if kind == "model":
        import polars as pl

        import sidrec

        model = sidrec.load(path)
        before = model.recommend([["i1", "i2"], ["i3"]], k=12)
        model.add_items(pl.DataFrame({"item_id": ["late"], "title": ["late red lamp"]}))
        return before, model.recommend([["i1", "late"]], k=12), model.semantic_ids.codes.tolist()
    if kind == "dataset":
        from sidrec.data.dataset import Dataset

        data = Dataset.load(path)
        return data.catalog.frame.rows(), data.train_counts().tolist(), data.cases("test").targets.tolist()
    if kind == "embeddings":
        from sidrec.embeddings.item_embeddings import ItemEmbeddings

        items = ItemEmbeddings.load(path)
        return items.item_ids, items.vectors.tolist(), items.source
    if kind == "sids":
        from sidrec.sids.tokenized_items import TokenizedItems

        ids = TokenizedItems.load(path)
        return ids.ids.item_ids, ids.ids.codes.tolist(), ids.report
    from sidrec.evaluation.results import Evaluation

    found = Evaluation.load(path)
    return found.as_dict(), found.ranks.rows()

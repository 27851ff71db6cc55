"""Hostile artefacts: whoever reads them ends with a sentence, or is not harmed."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from disturb.findings import Finding
from disturb.ground import Ground
from disturb.mutations import mutate, reseal
from disturb.process import Body, command, library, run
from disturb.shop import TOKENIZE, TRAIN, Verb

KIND = "artefacts"
_UNFINISHED = "model/checkpoint"
"""A training that cannot go on keeps its work for whoever mends it."""


def _use_ids() -> None:
    import polars as pl

    from sidrec.embeddings.embed import embed_new
    from sidrec.sids.tokenized_items import TokenizedItems

    ids = TokenizedItems.load(Path("ids"))
    if ids.space is not None:
        items = pl.DataFrame({"item_id": ["late"], "title": ["a late lamp"]})
        ids.with_new_items(embed_new(items, ids.space), ["late"])


def _use_model() -> None:
    import polars as pl

    import sidrec

    model = sidrec.load("model")
    model.add_items(pl.DataFrame({"item_id": ["late"], "title": ["a late lamp"]}))
    model.recommend([["i1", "late"]], k=5, allow={"brand": ["Shop 1"]})
    model.save(Path("out"))


def _use_plus() -> None:
    import polars as pl

    import sidrec

    model = sidrec.load("plus")
    model.add_items(pl.DataFrame({"item_id": ["late"], "title": ["a late lamp"]}))
    model.recommend([["i1", "late"]], k=5, allow={"brand": ["Shop 1"]}, exclude_seen=True)
    model.save(Path("out"))


READERS: tuple[tuple[str, tuple[Body, ...]], ...] = (
    ("data", (command("data describe data"), command("embed data --encoder tfidf --out out"))),
    ("data", (command("train --data data --model popularity --out out"), command("evaluate pop --data data"))),
    ("emb", (command(TOKENIZE),)),
    ("ids", (library(_use_ids),)),
    ("model", (library(_use_model), command("recommend model --history i1,i2 --explain"))),
    ("model", (command("evaluate model --data data"),)),
    ("model/checkpoint", (command(TRAIN.replace("--out out", "--set model.training.epochs=3 --out model")),)),
    ("graphs", (command("recommend model --engine onnx --graphs graphs --history i1,i2 -k 3"),)),
    ("plus", (library(_use_plus), command("recommend plus --history i1,i2 --explain"))),
    ("sas", (command("recommend sas --history i1,i2 -k 3"), command("embed data --from-model sas --out out"))),
    ("pop", (command("recommend pop --input users.parquet --output out"),)),
    ("eval", (command("compare eval eval2"),)),
    ("bench", (command("report bench --out out"),)),
)


def lie(ground: Ground, draw: Random, name: str) -> Finding:
    """Change one file of an artefact, mostly with hashes to match, and let its readers have it."""
    about, bodies = draw.choice(READERS)
    finding, sealed = Finding(KIND, about, tries=1), draw.random() < 0.85
    with ground.home(Verb(about, bodies[0], bodies[0]), name) as home:
        said = run(lambda: print(_changed(home.path, about, draw, sealed)), home.path, home.said).words.strip()
        for body in bodies:
            ended = home.run(body)
            if ended.traceback:
                finding.fault("tracebacks", f"{said}: {ended.words[-1200:]}")
            elif ended.code == 2 and not ended.words.strip():
                finding.fault("tracebacks", f"{said}: it ended without a word")
            if ended.code == 2 and about != _UNFINISHED and home.leftovers():
                finding.fault("leftovers", f"{said}: {' '.join(home.leftovers())[:300]}")
            if home.out.is_dir():
                shutil.rmtree(home.out)
    return finding


def _changed(home: Path, about: str, draw: Random, sealed: bool) -> str:
    """What was changed; what holds the artefact is sealed as well."""
    words = mutate(home / about, draw, sealed=sealed)
    holder, _, inside = about.partition("/")
    if sealed and inside and (home / holder / "manifest.json").is_file():
        reseal(home / holder, changed=home / about / "manifest.json")
    return words

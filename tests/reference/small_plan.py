"""A benchmark that runs in a second or two: a known-answer shop, three models, two searches, and one row that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidrec.data.synthetic import cycle
from sidrec.pipeline.benchmark.plan import Plan

TOKENIZER = {"tokenizer": "opq", "options": {"n_codes": 2, "codebook_size": 8, "pca": 4}}
WITHOUT_ROOM = {"tokenizer": "opq", "options": {"n_codes": 2, "codebook_size": 2, "pca": 4}}
SETTINGS = {
    "d_model": 8,
    "n_layers": 1,
    "n_heads": 2,
    "embedding": {"encoder": "tfidf"},
    "training": {"validate_every": 1, "batch_size": 32, "learning_rate": 0.01},
}


def small_shop(folder: Path) -> Path:
    """A prepared dataset of 20 items and 24 users."""
    return cycle(n_items=20, n_users=24, length=8).save(folder / "shop")


def small_plan(shop: Path, *, failing: bool = True, **values: Any) -> Plan:
    models = ["popularity", "sasrec-ce"]
    broken = [{"label": "no room", "set": {"tokenize": WITHOUT_ROOM}}] if failing else []
    rows = [{"label": "llada-rec", "set": {"tokenize": TOKENIZER}}, *broken]
    steps = [{"label": f"{n} steps", "x": n, "set": {"tokenize": TOKENIZER, "search": {"n_steps": n}}} for n in (1, 2)]
    plan = {
        "title": "Small",
        "scale": "tiny",
        "budget": {"epochs": 2},
        "settings": SETTINGS,
        "datasets": {"shop": {"source": str(shop)}},
        "section": [
            {"name": "main-table", "title": "Models", "baseline": "popularity", "models": models, "variants": rows},
            {"name": "steps", "title": "Steps", "baseline": "2 steps", "axis": "steps", "variants": steps},
        ],
    }
    return Plan.parse({**plan, **values}, owner="a plan")

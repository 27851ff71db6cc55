"""Generative recommendation with semantic IDs.

>>> import sidrec
>>> data = sidrec.read_dataset("interactions.parquet", items="items.csv")
>>> model = sidrec.LLaDARec().fit(data)
>>> model.recommend([["B01", "B07"]], k=10)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sidrec.core.errors import SidrecError
    from sidrec.data.dataset import Dataset
    from sidrec.data.prepare import read_dataset
    from sidrec.data.synthetic import demo_shop
    from sidrec.evaluation.compare import compare
    from sidrec.models.bert4rec import BERT4Rec
    from sidrec.models.diffurec import DiffuRec
    from sidrec.models.dreamrec import DreamRec
    from sidrec.models.fmlprec import FMLPRec
    from sidrec.models.gru4rec import GRU4Rec
    from sidrec.models.lcrec.recommender import LCRec
    from sidrec.models.llada_rec.recommender import LLaDARec
    from sidrec.models.llada_rec_plus.recommender import LLaDARecPlus
    from sidrec.models.lrurec import LRURec
    from sidrec.models.popularity import Popularity
    from sidrec.models.registry import models, register
    from sidrec.models.rpg import RPG
    from sidrec.models.sasrec import SASRec, SASRecSoftmax
    from sidrec.models.tiger.recommender import TIGER
    from sidrec.models.vqrec import VQRec
    from sidrec.pipeline.recommend_many import recommend_many
    from sidrec.verbs import benchmark, embed, evaluate, load, model, report, tokenize, tune

    __version__: str

__all__ = [
    "RPG",
    "TIGER",
    "BERT4Rec",
    "Dataset",
    "DiffuRec",
    "DreamRec",
    "FMLPRec",
    "GRU4Rec",
    "LCRec",
    "LLaDARec",
    "LLaDARecPlus",
    "LRURec",
    "Popularity",
    "SASRec",
    "SASRecSoftmax",
    "SidrecError",
    "VQRec",
    "__version__",
    "benchmark",
    "compare",
    "demo_shop",
    "embed",
    "evaluate",
    "load",
    "model",
    "models",
    "read_dataset",
    "recommend_many",
    "register",
    "report",
    "tokenize",
    "tune",
]

# where each name lives; imported when it is first asked for, so that `import sidrec` stays light
_PLACES = {
    "sidrec.core.errors": ("SidrecError",),
    "sidrec.data.dataset": ("Dataset",),
    "sidrec.data.prepare": ("read_dataset",),
    "sidrec.data.synthetic": ("demo_shop",),
    "sidrec.evaluation.compare": ("compare",),
    "sidrec.models.bert4rec": ("BERT4Rec",),
    "sidrec.models.diffurec": ("DiffuRec",),
    "sidrec.models.dreamrec": ("DreamRec",),
    "sidrec.models.fmlprec": ("FMLPRec",),
    "sidrec.models.gru4rec": ("GRU4Rec",),
    "sidrec.models.lcrec.recommender": ("LCRec",),
    "sidrec.models.llada_rec.recommender": ("LLaDARec",),
    "sidrec.models.llada_rec_plus.recommender": ("LLaDARecPlus",),
    "sidrec.models.lrurec": ("LRURec",),
    "sidrec.models.popularity": ("Popularity",),
    "sidrec.models.registry": ("register",),
    "sidrec.models.rpg": ("RPG",),
    "sidrec.models.sasrec": ("SASRec", "SASRecSoftmax"),
    "sidrec.models.tiger.recommender": ("TIGER",),
    "sidrec.models.vqrec": ("VQRec",),
    "sidrec.pipeline.recommend_many": ("recommend_many",),
    "sidrec.verbs": ("benchmark", "embed", "evaluate", "load", "model", "report", "tokenize", "tune"),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sidrec")
    if name == "models":  # the room and the listing share a name, see models/__init__.py
        return import_module("sidrec.models")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'sidrec' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

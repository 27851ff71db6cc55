"""Common mistakes are one sentence each, and never an exception from somewhere inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sidrec
from sidrec.core.errors import SidrecError
from sidrec.data.synthetic import clusters

DATA = clusters(n_clusters=2, cluster_size=6, n_users=20, length=5)
FRAME = pl.DataFrame({"user_id": ["u"], "item_id": ["a"]})
MODEL: Any = sidrec.Popularity().fit(DATA)
ANY: Any = sidrec

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a frame for a model": (lambda: ANY.load(FRAME), "a DataFrame where a path is meant"),
    "a frame to evaluate": (lambda: ANY.evaluate(FRAME, DATA), "a DataFrame where a path is meant"),
    "a frame as data": (lambda: ANY.evaluate(MODEL, FRAME), "a DataFrame where a path is meant"),
    "a frame to embed": (lambda: ANY.embed(FRAME), "a DataFrame where a path is meant"),
    "a frame to fit": (lambda: sidrec.Popularity().fit(FRAME), r"fit takes a dataset, not DataFrame; .*read_dataset"),
    "a path to fit": (lambda: sidrec.Popularity().fit("runs/data"), r"fit takes a dataset, not str; .*read_dataset"),
    "nothing to read": (lambda: ANY.read_dataset(None), "None where a path is meant"),
    "a list to read": (lambda: ANY.read_dataset([1, 2]), "a list where a path is meant"),
    "k in words": (lambda: MODEL.recommend([["a"]], k="5"), "k is '5'; ask for a whole number"),
    "k of nothing": (lambda: MODEL.recommend([["a"]], k=None), "k is None"),
    "one history": (lambda: MODEL.recommend(["thing-1"]), "histories is a list of histories"),
    "numbers alone": (lambda: MODEL.recommend([1, 2]), "histories is a list of histories"),
    "a frame of histories": (lambda: MODEL.recommend(FRAME), "histories is a list of histories"),
    "a number of histories": (lambda: MODEL.recommend(3), "histories is a list of histories"),
    "a user for users": (lambda: MODEL.recommend([["a"]], users="u"), "users is a list of user ids"),
    "one item to remove": (lambda: MODEL.remove_items("thing-1"), "list"),
    "no such setting": (lambda: sidrec.SASRec(epochs=3), r"did you mean training\.epochs"),
    "a word for a number": (lambda: sidrec.SASRec(d_model="wide"), "d_model"),
    "no such model": (lambda: ANY.model("sasreck"), "did you mean sasrec"),
    "nothing as a model": (lambda: ANY.model(None), "None is not a model"),
    "a model for its key": (lambda: ANY.model(MODEL), "is not a model; known models: "),
    "a frame to deny": (lambda: MODEL.recommend([["a"]], deny=FRAME), "deny is DataFrame; a filter is text such as"),
    "another frame to deny": (
        lambda: MODEL.recommend([["a"]], deny=pd.DataFrame({"item_id": ["thing-1"]})),
        "deny is DataFrame; a filter is text such as",
    ),
    "no history to explain": (
        lambda: MODEL.stock.asked_for_one(None, 5, None, None, exclude_seen=False),
        "history is one user's list of item ids",
    ),
    "a number to save": (lambda: MODEL.save(7), "a int where a path is meant|an int where a path is meant"),
    "vectors in a list": (lambda: ANY.embed(DATA, vectors=[[1.0]]), "1 vectors for 12 items"),
    "vectors of one number": (lambda: ANY.embed(DATA, vectors=np.ones(12)), "a table of vectors is needed"),
    "mixed ids": (
        lambda: ANY.read_dataset(pd.DataFrame({"user_id": ["u", 1], "item_id": ["a", "b"]})),
        "column user_id: holds int and str",
    ),
    "a frame to tokenize": (lambda: ANY.tokenize(FRAME), "a DataFrame where a path is meant"),
    "k of a stock in words": (
        lambda: MODEL.stock.asked_for_one(["a"], "5", None, None, exclude_seen=False),
        "k is '5'",
    ),
    "models to compare": (lambda: ANY.compare(MODEL, MODEL), "compare takes evaluations .* not Popularity; .*evaluate"),
    "a number to report": (lambda: ANY.report(3, "out"), "an int where a path is meant"),
    "a frame as plan": (lambda: ANY.benchmark(FRAME, "out"), "a DataFrame where a path is meant"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str) -> None:
    do, words = MISTAKES[name]
    with pytest.raises(SidrecError, match=words) as caught:
        do()
    assert "\n" not in str(caught.value)

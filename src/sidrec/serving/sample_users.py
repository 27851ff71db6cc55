"""Users to try a model with: from the data it was trained on, without ids, and only where the service may show them."""

from __future__ import annotations

import numpy as np

from sidrec.core.errors import SidrecError
from sidrec.data.dataset import Dataset
from sidrec.serving.catalogue import brief
from sidrec.serving.model_store import LoadedModel
from sidrec.serving.schemas import SampleUser, SampleUsers

_NEWEST = 20


def sample_users(loaded: LoadedModel, count: int) -> SampleUsers:
    """The same ones every time; nobody where the training data are not beside the model."""
    if count == 0:
        return SampleUsers(users=[], why_none="this service shows none; its setting sample_users says how many it may.")
    if count not in loaded.samples:
        loaded.samples[count] = _sampled(loaded, count)
    return loaded.samples[count]


def _sampled(loaded: LoadedModel, count: int) -> SampleUsers:
    path = loaded.model.data_path
    if path is None:
        return SampleUsers(users=[], why_none="the model was trained on data in memory.")
    try:
        data = Dataset.load(path)
    except SidrecError as error:
        return SampleUsers(users=[], why_none=f"the training data are not beside the model: {error}")
    if data.fingerprint != loaded.model.trained_on:
        return SampleUsers(users=[], why_none="the data beside the model are not those it was trained on.")
    cases = data.cases("test")
    rows = np.sort(np.random.default_rng(0).permutation(len(cases))[:count])
    chosen = cases.take(rows)
    users = [
        SampleUser(
            name=f"user {number}",
            history=[brief(loaded, int(item)) for item in history[-_NEWEST:]],
            came_next=brief(loaded, int(target)),
        )
        for number, (history, target) in enumerate(zip(chosen.histories, chosen.targets, strict=True), start=1)
    ]
    return SampleUsers(users=users, why_none=None if users else "the training data held nobody out.")

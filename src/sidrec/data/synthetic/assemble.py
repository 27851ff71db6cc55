"""From generated sequences to a dataset with a leave-one-out split and a fingerprint of its content."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories


def leave_one_out_dataset(
    frame: pl.DataFrame, sequences: Histories, timestamps: NDArray[np.int64] | None = None
) -> Dataset:
    """The last item of each user is the test, the last but one the validation, all before it training."""
    lengths = sequences.lengths
    return Dataset(
        catalog=Catalog(frame),
        user_ids=pl.Series("user_id", [f"user-{user:05d}" for user in range(len(sequences))], dtype=pl.String),
        sequences=sequences,
        train_ends=lengths - 2,
        validation_ends=lengths - 1,
        timestamps=timestamps,
        fingerprint=content_fingerprint(frame, sequences, timestamps),
    )


def content_fingerprint(frame: pl.DataFrame, sequences: Histories, timestamps: NDArray[np.int64] | None) -> str:
    """A hash of what is in the dataset: equal content, equal fingerprint, on every machine."""
    digest = hashlib.sha256(json.dumps(frame.to_dict(as_series=False), ensure_ascii=False).encode())
    for array in (sequences.items, sequences.offsets, np.empty(0, np.int64) if timestamps is None else timestamps):
        digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()

"""From generated sequences to a dataset with a leave-one-out split and a fingerprint of its content."""

from __future__ import annotations

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
    ).with_content_fingerprint()

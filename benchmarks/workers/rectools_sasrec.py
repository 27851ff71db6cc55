"""RecTools' SASRec on a split we hand over, run in an environment of its own: SPLIT.npz '{"epochs": 2, ...}'.

Prints one JSON line: seconds of each epoch, seconds of recommending, ranked items are written beside the split.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from pytorch_lightning import Callback, Trainer, seed_everything
from rectools import Columns
from rectools.dataset import Dataset
from rectools.models import SASRecModel

K = 10
ROUNDS = 3


class EpochClock(Callback):
    """Seconds of every training epoch."""

    seconds: list[float] = []  # noqa: RUF012

    def on_train_epoch_start(self, trainer: Trainer, module: object) -> None:  # noqa: ARG002
        self.began = time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, module: object) -> None:  # noqa: ARG002
        EpochClock.seconds.append(time.perf_counter() - self.began)


def trainer(epochs: int) -> Trainer:
    return Trainer(
        max_epochs=epochs,
        min_epochs=epochs,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        logger=False,
        accelerator="cpu",
        devices=1,
        callbacks=[EpochClock()],
    )


def interactions(users: np.ndarray, items: np.ndarray) -> Dataset:
    """Rows come in the order of time; the clock only has to keep it."""
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(users)), unit="s")
    frame = pd.DataFrame({Columns.User: users, Columns.Item: items, Columns.Weight: 1.0, Columns.Datetime: when})
    return Dataset.construct(frame)


def main() -> None:
    split, options = np.load(sys.argv[1]), json.loads(sys.argv[2])
    torch.set_num_threads(options["threads"])
    seed_everything(options["seed"], verbose=False)
    model = SASRecModel(
        n_blocks=options["n_layers"],
        n_heads=options["n_heads"],
        n_factors=options["d_model"],
        dropout_rate=options["dropout"],
        session_max_len=options["max_history"],
        batch_size=options["batch_size"],
        lr=options["learning_rate"],
        epochs=options["epochs"],
        loss="softmax",
        get_trainer_func=trainer,
        get_trainer_func_kwargs={"epochs": options["epochs"]},
        recommend_n_threads=options["threads"],
        recommend_torch_device="cpu",
    )
    model.fit(interactions(split["train_users"], split["train_items"]))
    asked = interactions(split["history_users"], split["history_items"])
    users, seconds = np.arange(len(split["targets"])), []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        found = model.recommend(users=users, dataset=asked, k=K, filter_viewed=False, on_unsupported_targets="ignore")
        seconds.append(time.perf_counter() - began)
    ranked = np.full((len(users), K), -1)
    ranked[found[Columns.User].to_numpy(), found[Columns.Rank].to_numpy() - 1] = found[Columns.Item].to_numpy()
    np.save(Path(sys.argv[1]).with_suffix(".ranked.npy"), ranked)
    versions = {name: metadata.version(name) for name in ("rectools", "torch", "numpy", "pytorch-lightning")}
    print(json.dumps({"epoch_seconds": EpochClock.seconds, "recommend_seconds": seconds, "versions": versions}))


if __name__ == "__main__":
    main()

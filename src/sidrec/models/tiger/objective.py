"""Training steps of TIGER for THE loop: every (history, next item) pair of every user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sidrec.data.dataset import Dataset
from sidrec.models.samples import Samples, left_aligned
from sidrec.models.tiger.config import TigerSettings
from sidrec.models.tiger.network import IdWriter
from sidrec.training.batches import length_groups
from sidrec.training.objective import Batch, Losses

GROUP_TOKENS = 8192
"""Tokens per forward pass: larger temporaries cost page faults, smaller ones starve the matrix products."""


class NextIdObjective:
    """Cross-entropy of the next item's codes, each behind the right ones before it."""

    def __init__(
        self,
        data: Dataset,
        n_codes: int,
        settings: TigerSettings,
        validate: Callable[[nn.Module], dict[str, float]] | None,
    ) -> None:
        self.sequences = sequences = data.train_sequences()
        self.samples = Samples.every_prefix(sequences, settings.max_history)
        self.users = np.searchsorted(sequences.offsets, self.samples.ends - 1, side="right") - 1
        self.user_ids: list[str] = data.user_ids.to_list()
        self.n_samples, self.n_codes = len(self.samples), n_codes
        self.nobody_rate, self._validate = settings.nobody_rate, validate

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        network = cast(IdWriter, module)
        hidden_users = torch.rand(len(batch.rows), generator=batch.generator).numpy() < self.nobody_rate
        rows, nobody = batch.rows[batch.mine], hidden_users[batch.mine]
        users = np.where(nobody, network.nobody, self._user_tokens(network, rows))
        # lengths count the target, whose tokens go through the decoder
        for group in length_groups(self.samples.lengths[rows] * self.n_codes + 1, max_tokens=GROUP_TOKENS):
            losses = self._losses(network, rows[group], torch.from_numpy(users[group]))
            loss = losses.mean(1).sum() / len(batch.rows)
            yield Losses(loss, {"next_item": loss.detach()})

    def _losses(self, network: IdWriter, rows: NDArray[np.int64], users: Tensor) -> Tensor:
        starts, last = self.samples.starts[rows], self.samples.ends[rows] - 1
        history = left_aligned(self.sequences.slice_rows(starts, last)).to(network.device)
        targets = torch.from_numpy(self.sequences.items[last]).long().to(network.device)
        codes = network.item_tokens.codes_of(targets)
        return network.token_losses(network.hidden(history, users.to(network.device), codes), codes)

    def _user_tokens(self, network: IdWriter, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return network.user_tokens([self.user_ids[user] for user in self.users[rows].tolist()])

    def validate(self, module: nn.Module) -> dict[str, float]:
        return self._validate(module) if self._validate else {}

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:  # noqa: ARG002
        return {}

"""Asking TIGER's network the plain way: the library's whole forward pass for every beam, nothing kept."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.masked_search import of_asked_slots
from sidrec.decoding.diffusion import Predict
from sidrec.models.tiger.network import IdWriter


def plain_predict(network: IdWriter, items: Tensor, users: Tensor) -> Predict:
    """`items` (users, length) and the users' tokens go along, whole, with every beam."""

    @of_asked_slots
    def predict(codes: Tensor) -> Tensor:
        n_users, n_beams, n_codes = codes.shape
        past, who = items.repeat_interleave(n_beams, 0), users.repeat_interleave(n_beams, 0)
        hidden = network.hidden(past, who, codes.flatten(0, 1).clamp(min=0))  # a code never sees itself or later ones
        every = torch.stack([network.log_probs(hidden[:, slot], slot) for slot in range(n_codes)], 1)
        return every.view(n_users, n_beams, n_codes, -1)

    return predict

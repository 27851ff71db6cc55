"""Asking LLaDA-Rec's network the published way: every row of every copy, all layers, all logits."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.masked_search import of_asked_slots
from sidrec.decoding.diffusion import Predict
from sidrec.models.llada_rec.network import MaskPredictor


def literal_predict(network: MaskPredictor, items: Tensor) -> Predict:
    """`items` (users, length) are the histories; they go along, whole, with every beam."""

    @of_asked_slots
    def predict(codes: Tensor) -> Tensor:
        users, beams, n_codes = codes.shape
        past = network.item_tokens.codes_of(items).repeat_interleave(beams, 0)
        rows = torch.cat([past, codes.flatten(0, 1)[:, None]], 1)  # (users * beams, items + 1, n_codes)
        x = network.embed_sequence(rows, None, with_target=True)
        hidden = network.transformer(x, network.mask_for(items.shape[1], None, with_target=True))
        every = network.log_probs(hidden.view(*rows.shape, -1))
        return every[:, -1].view(users, beams, n_codes, -1)

    return predict

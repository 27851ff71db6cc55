"""LC-Rec's way: colliding items get their last code from an even deal (Sinkhorn-Knopp) instead of the nearest one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sidrec.sids.base import Codes
from sidrec.sids.id_keys import groups, id_keys
from sidrec.sids.unique_ids import CostsOf

_SHARPNESS = 0.003
_SCALINGS = 50
_ROUNDS = 20


def spread_last_codes(codes: Codes, sizes: tuple[int, ...], costs_of: CostsOf) -> Codes:
    """Deal the last slot anew within each group of colliding items, until none collides or nothing changes.

    A group does not see what others occupy, so some collisions may remain; that is the published method.
    """
    codes = codes.copy()
    for _ in range(_ROUNDS):
        before = codes.copy()
        for group in groups(id_keys(codes, sizes), at_least=2):
            costs = costs_of(group)[:, -1, : sizes[-1]]
            codes[group, -1] = even_deal(costs).argmax(axis=1)
        if (codes == before).all():
            break
    return codes


def even_deal(costs: NDArray[np.float32]) -> NDArray[np.float64]:
    """Doubly scaled exp(-cost / sharpness) of (items, codes): rows and columns each get an equal share."""
    middle, reach = (costs.max() + costs.min()) / 2, (costs.max() - costs.min()) / 2
    centred = (costs.astype(np.float64) - middle) / (reach + 1e-5)
    weights: NDArray[np.float64] = np.exp(-(centred - centred.min()) / _SHARPNESS)
    for _ in range(_SCALINGS):
        weights /= np.maximum(weights.sum(axis=0, keepdims=True), 1e-300) * weights.shape[1]
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300) * weights.shape[0]
    return weights

"""Groups of like codes, all of one size, and a random other member of a code's group."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

_ROUNDS = 10


def even_groups(points: NDArray[np.float32], n_groups: int) -> NDArray[np.int64]:
    """Constrained k-means: the group of each point (n,); sizes differ by what does not divide evenly, never more.

    It begins with points along the main axis. Groups are at least pairs: few points make fewer of them.
    """
    n_groups = max(1, min(n_groups, len(points) // 2))
    room = np.arange(len(points)) % n_groups  # the places of all groups together: as many as points
    axis = np.linalg.svd(points - points.mean(0), full_matrices=False)[2][0]
    along = np.argsort(points @ axis, kind="stable")
    centres = points[along[(2 * np.arange(n_groups) + 1) * len(points) // (2 * n_groups)]]
    groups = np.full(len(points), -1)
    for _ in range(_ROUNDS):
        costs = ((points[:, None] - centres[None]) ** 2).sum(-1)  # (n, n_groups)
        found = room[linear_sum_assignment(costs[:, room])[1]]
        if (found == groups).all():
            break
        groups = found
        centres = np.stack([points[groups == group].mean(0) for group in range(n_groups)])
    return groups


def partners(groups: Tensor, codes: Tensor, draws: Tensor) -> Tensor:
    """Another code of the group of each code (n, n_codes), chosen by `draws` in [0, 1); itself where it is alone.

    `groups` (n_codes, K) holds -1 where a slot has no such code.
    """
    same = groups.unsqueeze(1) == groups.unsqueeze(2)  # (n_codes, K, K)
    same &= ~torch.eye(groups.shape[1], dtype=torch.bool, device=groups.device)
    slots = torch.arange(groups.shape[0], device=groups.device)
    others = same[slots, codes]  # (n, n_codes, K)
    counts = others.sum(-1)
    wanted = (draws * counts).long().clamp(max=counts - 1)  # which of the others
    place = (others.cumsum(-1) == (wanted + 1).unsqueeze(-1)) & others
    return torch.where(counts > 0, place.byte().argmax(-1), codes)

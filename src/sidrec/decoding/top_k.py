"""The k best of many, with ties that do not depend on the machine: shared by every model that scores whole rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sidrec.core.errors import TrainingError
from sidrec.data.histories import Histories
from sidrec.decoding.host import may_look

ScoreRows = Callable[[slice], Tensor]
"""Scores (rows, n_items) of the users in the slice, in memory of their own: they are overwritten."""
MAX_CELLS = 2_000_000
NEVER = float("-inf")


def top_items(
    score_rows: ScoreRows,
    histories: Histories,
    k: int,
    *,
    n_items: int,
    allowed: NDArray[np.bool_] | None = None,
    exclude_seen: bool = False,
    max_cells: int = MAX_CELLS,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k best allowed items of every user; ties go to the lower item index.

    -1 and -inf fill ranks for which no allowed item is left. At most `max_cells` scores (and never less than one
    user's) exist at a time.
    """
    items = np.full((len(histories), k), -1, dtype=np.int32)
    scores = np.full((len(histories), k), NEVER, dtype=np.float32)
    forbidden = None if allowed is None else torch.from_numpy(~allowed)
    rows_at_once = max(max_cells // max(n_items, 1), 1)
    kept = min(k, n_items)
    for start in range(0, len(histories), rows_at_once):
        rows = slice(start, min(start + rows_at_once, len(histories)))
        chunk = score_rows(rows).detach()  # (rows, n_items)
        if forbidden is not None:
            chunk.masked_fill_(forbidden.to(chunk.device), NEVER)
        if exclude_seen:
            _forbid_seen(chunk, histories, rows)
        best, columns = first_best(chunk, kept)
        if best.isnan().any():
            raise TrainingError("the model's scores are not numbers; train it again with a lower learning rate.")
        columns = columns.masked_fill(best == NEVER, -1)
        items[rows, :kept] = columns.to("cpu", torch.int32).numpy()
        scores[rows, :kept] = best.to("cpu", torch.float32).numpy()
    return items, scores


def _forbid_seen(chunk: Tensor, histories: Histories, rows: slice) -> None:
    start, end = histories.offsets[rows.start], histories.offsets[rows.stop]
    users = np.repeat(np.arange(rows.stop - rows.start), histories.lengths[rows])
    seen = torch.from_numpy(histories.items[start:end].astype(np.int64))
    chunk[torch.from_numpy(users).to(chunk.device), seen.to(chunk.device)] = NEVER


def first_best(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row (rows, n), best first, equal ones by lower column; the columns of -inf are arbitrary.

    `topk` alone leaves the order of equal values, and which of them survive at the border, to the machine; sorting
    whole rows costs ten times as much. So ties are looked for afterwards, and only rows that have them pay; where
    looking is dear, whole rows are sorted.
    """
    if not may_look(scores.device):
        order = scores.sort(dim=-1, descending=True, stable=True)
        return order.values[:, :k], order.indices[:, :k]
    n = scores.shape[-1]
    values, columns = scores.topk(min(k + 1, n), dim=-1)
    tied = (values[:, 1:] == values[:, :-1]) & (values[:, 1:] > NEVER)  # (rows, k)
    if not tied.any():
        return values[:, :k], columns[:, :k]
    across_border = tied[:, k - 1] if n > k else tied.new_zeros(len(tied))
    values, columns = _by_column_within_ties(values[:, :k], columns[:, :k])
    if across_border.any():
        order = scores[across_border].sort(dim=-1, descending=True, stable=True)
        values[across_border], columns[across_border] = order.values[:, :k], order.indices[:, :k]
    return values, columns


def _by_column_within_ties(values: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    columns, order = columns.sort(dim=-1)
    values, order = values.gather(-1, order).sort(dim=-1, descending=True, stable=True)
    return values, columns.gather(-1, order)

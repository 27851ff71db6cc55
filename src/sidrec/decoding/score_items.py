"""Fewer predictions than slots: score all items, or all that fit the first slot, by the sum of their log-probabilities.

Neither leaves the catalogue. They take the slots they score as independent, so their lists differ from the search's.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from sidrec.decoding.beam import Beams
from sidrec.decoding.diffusion import Predict, SearchResult, first_step
from sidrec.decoding.item_index.index import ItemIndex, spread
from sidrec.decoding.order import masked_slots
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.top_k import NEVER, first_best
from sidrec.decoding.user_constraint import UserConstraint

MAX_CELLS = 4_000_000


def score_all(
    predict: Predict,
    n_users: int,
    k: int,
    constraint: UserConstraint,
    *,
    device: torch.device | None = None,
    max_cells: int = MAX_CELLS,
) -> SearchResult:
    """One prediction (T = 1), then the exact k best of the whole index; ties go to the lexicographically lower ID."""
    index = constraint.index
    start = Beams.start(n_users, len(index.sizes), device)
    log_probs = predict(start.codes, masked_slots(start.codes, len(index.sizes)))[:, 0]  # (users, M, K)
    wanted = k + _n_excluded(constraint)
    at_once = max(max_cells // max(n_users, 1), wanted)
    best, numbers = log_probs.new_empty(n_users, 0), start.codes.new_empty(n_users, 0)
    for first in range(0, len(index), at_once):
        sums = summed_scores(log_probs, torch.from_numpy(index.ids[first : first + at_once]).to(device), index.sizes)
        scores, columns = first_best(sums, min(wanted, sums.shape[1]))
        best, numbers = torch.cat([best, scores], 1), torch.cat([numbers, columns + first], 1)
        best, columns = first_best(best, min(wanted, best.shape[1]))
        numbers = numbers.gather(1, columns)
    found = torch.from_numpy(index.ids)[numbers.cpu()].long().to(device)
    return _without_excluded(found, best, constraint, k)


def summed_scores(log_probs: Tensor, ids: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The summed log-probabilities of IDs (n, M) for every user: (users, n).

    Where there are more IDs than pairs of codes, two slots' pairs are added up once: half the look-ups.
    """
    total: Tensor | None = None
    slot = 0
    while slot < len(sizes):
        table, columns, width = log_probs[:, slot], ids[:, slot], log_probs.shape[-1]
        slot += 1
        if slot < len(sizes) and len(ids) > width * width:
            table = (table.unsqueeze(2) + log_probs[:, slot].unsqueeze(1)).flatten(1)  # (users, K * K)
            columns = columns * width + ids[:, slot]
            slot += 1
        part = table.index_select(1, columns)
        total = part if total is None else total.add_(part)
    assert total is not None
    return total


def score_fitting(
    predict: Predict, n_users: int, plan: SearchPlan, constraint: UserConstraint, *, device: torch.device | None = None
) -> SearchResult:
    """Two predictions: the best codes of the plan's first slots, then every item that fits one of those beams.

    The predictions are made on `device`; what fits is read on the host, user by user.

    With `n_steps` = M the first step fills one slot. Ties: the better-ranked beam first, then its IDs in sorted order.
    """
    beams = first_step(predict, n_users, plan, constraint, device)
    slots = masked_slots(beams.codes, plan.n_codes - plan.slots_per_step[0])
    asked = replace(beams, pending=slots, log_probs=predict(beams.codes, slots)).cpu()
    constraint = constraint.to(torch.device("cpu"))
    results = [
        _best_that_fit(asked, user, plan.k + _n_excluded(constraint), constraint.index) for user in range(n_users)
    ]
    codes = torch.nn.utils.rnn.pad_sequence([codes for codes, _ in results], batch_first=True, padding_value=-1)
    scores = torch.nn.utils.rnn.pad_sequence([scores for _, scores in results], batch_first=True, padding_value=NEVER)
    return _without_excluded(codes, scores, constraint, plan.k)


def _best_that_fit(beams: Beams, user: int, k: int, index: ItemIndex) -> tuple[Tensor, Tensor]:
    """One user's best IDs (n, M) and scores (n,), n <= k; every open slot of a beam is pending."""
    live = beams.scores[user] > NEVER
    codes, scores, slots, predicted = (part[user][live] for part in beams.parts())
    n_codes, columns = codes.shape[-1], torch.arange(slots.shape[-1])
    best, best_scores = codes.new_empty(0, n_codes), scores.new_empty(0)
    for rows, positions in spread(*index.ranges(codes), MAX_CELLS):
        ids = index.sorted.code_at(positions.unsqueeze(1), torch.arange(n_codes))  # (entries, M)
        sums = scores[rows] + predicted[rows.unsqueeze(1), columns, ids.gather(1, slots[rows])].sum(-1)
        best, best_scores = torch.cat([best, ids]), torch.cat([best_scores, sums])
        kept, numbers = first_best(best_scores.unsqueeze(0), min(k, len(best)))
        best, best_scores = best[numbers[0]], kept[0]
    return best, best_scores


def _n_excluded(constraint: UserConstraint) -> int:
    return 0 if constraint.excluded is None else constraint.excluded.shape[1]


def _without_excluded(codes: Tensor, scores: Tensor, constraint: UserConstraint, k: int) -> SearchResult:
    """The k best of k + L: at most the L excluded IDs of a user can be among them."""
    if constraint.excluded is not None:
        excluded = (codes.unsqueeze(2) == constraint.excluded.unsqueeze(1)).all(-1).any(-1)
        scores = scores.masked_fill(excluded, NEVER)
    missing = max(k - scores.shape[1], 0)
    scores = torch.nn.functional.pad(scores, (0, missing), value=NEVER)
    codes = torch.nn.functional.pad(codes, (0, 0, 0, missing), value=-1)
    best, columns = first_best(scores, k)
    codes = codes.gather(1, columns.unsqueeze(-1).expand(-1, -1, codes.shape[-1]))
    return SearchResult(codes.masked_fill((best == NEVER).unsqueeze(-1), -1), best)

"""Sets of slots as bit numbers, and the few slot orders that begin with every one of them."""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor


def sets_of_size(n_codes: int, size: int) -> list[tuple[int, ...]]:
    """Every set of `size` slots, each ascending."""
    return list(combinations(range(n_codes), size))


def number_of(slots: tuple[int, ...]) -> int:
    """Slot m is bit m."""
    return sum(1 << slot for slot in slots)


def filled_sets(codes: Tensor) -> Tensor:
    """The number of the set of filled slots of each row; -1 marks a masked slot."""
    bits = torch.ones_like(codes[:1]) << torch.arange(codes.shape[-1], device=codes.device)
    return ((codes >= 0) * bits).sum(-1)


def covering_orders(n_codes: int) -> tuple[list[tuple[int, ...]], list[int]]:
    """The fewest slot orders such that every set of slots is the beginning of one, and that order for each set.

    Sorting the catalogue by an order makes the items that share the codes of a beginning one contiguous range; with
    these C(M, M // 2) orders (6 for M = 4, instead of 24) any filled slots have such a range.
    Order 0 is 0, 1, .., M - 1.
    """
    per_set = [_order_through(number, n_codes) for number in range(1 << n_codes)]
    orders = sorted(set(per_set))
    number = {order: index for index, order in enumerate(orders)}
    return orders, [number[order] for order in per_set]


def _order_through(number: int, n_codes: int) -> tuple[int, ...]:
    """Greene and Kleitman's symmetric chain: read members as `)` and the others as `(`, and match the brackets.

    Sets with the same matched brackets form a chain: the matched members, then the unmatched slots from left to right.
    """
    opened: list[int] = []
    matched: set[int] = set()
    for slot in range(n_codes):
        if not number >> slot & 1:
            opened.append(slot)
        elif opened:
            matched |= {opened.pop(), slot}
    slots = range(n_codes)
    first = [slot for slot in slots if slot in matched and number >> slot & 1]
    free = [slot for slot in slots if slot not in matched]
    last = [slot for slot in slots if slot in matched and not number >> slot & 1]
    return tuple(first + free + last)

"""The synthetic demo shop: shoppers follow missions through their stages, stay with a brand and buy what fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories, offsets_of
from sidrec.data.synthetic.assemble import leave_one_out_dataset
from sidrec.data.synthetic.demo_products import N_FITS, N_MAKERS, N_STAGES, Products, make_products

Ints = NDArray[np.int64]

SHORTEST, LONGEST, STOP = 5, 30, 0.25
IMPULSE_SHARE = 0.05
SKIP_SHARE = 0.12
"""Stages left out on the way through a mission."""
NEXT_MISSION_SHARE = 0.6
"""How often a finished mission leads to the neighbouring one; otherwise any mission follows."""
FIT_WEIGHT, BRAND_WEIGHT = 12.0, 5.0
TAIL = 0.6
"""Steepness of popularity among products of one role."""
DAY = 86_400


@dataclass
class _Shoppers:
    """Where everybody stands: the mission, its next stage, what has to fit, and the favourite brand."""

    mission: Ints
    stage: Ints
    fit: Ints
    brand: Ints


@dataclass(frozen=True)
class _Shelves:
    """Items of each role (the last row: impulse buys), padded with -1, and how much they are liked."""

    items: Ints  # (roles + 1, widest)
    log_liking: NDArray[np.float64]


def demo_shop(n_items: int = 2000, n_users: int = 3000, seed: int = 0) -> Dataset:
    """A synthetic shop in which order and content both matter; nobody buys an item twice while there is another.

    The next item is a product of the next stage, most likely with the same fit and brand as the last ones, so a
    model that looks at order beats popularity by far, and one that reads the text can serve the long tail.
    """
    if n_users < 1:
        raise InputError(f"the synthetic shop needs at least one shopper, not {n_users}.")
    rng = np.random.default_rng(seed)
    products = make_products(n_items, rng)
    lengths = np.minimum(SHORTEST - 1 + rng.geometric(STOP, size=n_users), LONGEST)
    bought = _shop(products, lengths, rng)  # (users, longest), -1 after the end
    items = bought[bought >= 0].astype(np.int32)
    sequences = Histories(items, offsets_of(lengths))
    return leave_one_out_dataset(products.frame, sequences, _timestamps(lengths, rng))


def _shop(products: Products, lengths: Ints, rng: np.random.Generator) -> Ints:
    """One purchase of every shopper per step, until each has reached its length."""
    shelves = _shelves(products, rng)
    shoppers = _begin(products, len(lengths), rng)
    bought = np.full((len(lengths), int(lengths.max())), -1)
    for step in range(bought.shape[1]):
        impulse = rng.random(len(lengths)) < IMPULSE_SHARE
        picked = _pick(products, shelves, shoppers, impulse, bought[:, :step], rng)
        bought[:, step] = np.where(lengths > step, picked, -1)
        _move_on(products, shoppers, ~impulse, rng)
    return bought


def _begin(products: Products, n_users: int, rng: np.random.Generator) -> _Shoppers:
    liking = 1 / np.arange(1, products.n_missions + 1) ** 0.4
    mission = rng.choice(products.n_missions, size=n_users, p=liking / liking.sum())
    stage = np.where(rng.random(n_users) < 0.5, 0, rng.integers(N_STAGES - 1, size=n_users))
    brand = products.makers[mission, rng.integers(N_MAKERS, size=n_users)]
    return _Shoppers(mission, stage, rng.integers(N_FITS, size=n_users), brand)


def _shelves(products: Products, rng: np.random.Generator) -> _Shelves:
    roles = np.where(products.role < 0, products.n_missions * N_STAGES, products.role)
    counts = np.bincount(roles, minlength=products.n_missions * N_STAGES + 1)
    shuffled = rng.permutation(len(roles))
    order = shuffled[np.argsort(roles[shuffled], kind="stable")]
    rank = np.arange(len(roles)) - np.repeat(offsets_of(counts)[:-1], counts)
    items = np.full((len(counts), int(counts.max())), -1)
    items[roles[order], rank] = order
    liking = -TAIL * np.log1p(np.arange(items.shape[1]))
    return _Shelves(items, np.where(items >= 0, liking, -np.inf))


def _pick(
    products: Products,
    shelves: _Shelves,
    shoppers: _Shoppers,
    impulse: NDArray[np.bool_],
    before: Ints,
    rng: np.random.Generator,
) -> Ints:
    """Draw from the shelf of the stage, weighted by liking, fit and brand (Gumbel maximum = weighted draw)."""
    shelf = np.where(impulse, len(shelves.items) - 1, shoppers.mission * N_STAGES + shoppers.stage)
    items = shelves.items[shelf]  # (users, widest)
    weight = shelves.log_liking[shelf] + rng.gumbel(size=items.shape)
    weight += np.log(FIT_WEIGHT) * (products.fit[items] == shoppers.fit[:, None])
    weight += np.log(BRAND_WEIGHT) * (products.brand[items] == shoppers.brand[:, None])
    for column in before.T:
        weight[items == column[:, None]] -= 1e6  # again only where nothing else is left
    picked: Ints = np.take_along_axis(items, weight.argmax(1)[:, None], 1)[:, 0]
    return picked


def _move_on(products: Products, shoppers: _Shoppers, moved: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """Go to the next stage, or from a finished mission to another one."""
    n_users = len(moved)
    skipped = rng.random(n_users) < SKIP_SHARE
    shoppers.stage = shoppers.stage + moved * (1 + skipped)
    done = shoppers.stage >= N_STAGES
    neighbour = (shoppers.mission + 1) % products.n_missions
    stays_near = rng.random(n_users) < NEXT_MISSION_SHARE
    follow = np.where(stays_near, neighbour, rng.integers(products.n_missions, size=n_users))
    shoppers.mission = np.where(done, follow, shoppers.mission)
    shoppers.stage = np.where(done, 0, shoppers.stage)
    shoppers.fit = np.where(done, rng.integers(N_FITS, size=n_users), shoppers.fit)
    offered = (products.makers[shoppers.mission] == shoppers.brand[:, None]).any(1)
    other = products.makers[shoppers.mission, rng.integers(N_MAKERS, size=n_users)]
    shoppers.brand = np.where(done & ~offered, other, shoppers.brand)


def _timestamps(lengths: Ints, rng: np.random.Generator) -> Ints:
    """Seconds since 1970: everybody begins within a year and comes back every few days."""
    starts = offsets_of(lengths)[:-1]
    gaps = 1 + rng.exponential(6 * DAY, size=int(lengths.sum())).astype(np.int64)
    gaps[starts] = 1_577_836_800 + rng.integers(365 * DAY, size=len(lengths))
    total = np.cumsum(gaps)
    return total - np.repeat(total[starts] - gaps[starts], lengths)

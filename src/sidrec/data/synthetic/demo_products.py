"""The products of the synthetic shop: who needs them at which stage, and what their page says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.data.synthetic.demo_words import BRANDS, IMPULSE, MISSIONS, OFFERS, PRICE_BANDS, SERIES

N_STAGES = 6
N_FITS = 3
N_MAKERS = 5
"""Brands that serve one mission."""


@dataclass(frozen=True)
class Products:
    """What shoppers look at; `role` is mission * N_STAGES + stage, and -1 for impulse buys."""

    role: NDArray[np.int64]
    fit: NDArray[np.int64]
    brand: NDArray[np.int64]
    makers: NDArray[np.int64]
    """(missions, N_MAKERS) brands."""
    frame: pl.DataFrame

    @property
    def n_missions(self) -> int:
        return len(self.makers)


def make_products(n_items: int, rng: np.random.Generator) -> Products:
    """Fill the shelves evenly: each role gets every fit, then every brand, then further series."""
    if n_items < 40:
        raise InputError(f"the synthetic shop needs at least 40 products to have a role for each, not {n_items}.")
    n_impulse = min(len(IMPULSE), n_items // 20)
    number = np.arange(n_items - n_impulse)
    n_missions = min(len(MISSIONS), max(1, len(number) // (N_STAGES * 6)))
    makers = _makers(n_missions, rng)
    role, copy = number % (n_missions * N_STAGES), number // (n_missions * N_STAGES)
    brand = makers[role // N_STAGES, copy // N_FITS % N_MAKERS]
    impulse = np.full(n_impulse, -1)
    shelf = rng.permutation(n_items)  # so that an item's index says nothing about its role
    role, fit = np.append(impulse, role)[shelf], np.append(impulse, copy % N_FITS)[shelf]
    brand = np.append(rng.integers(len(BRANDS), size=n_impulse), brand)[shelf]
    edition = np.append(np.arange(n_impulse), copy // (N_FITS * N_MAKERS))[shelf]
    return Products(role, fit, brand, makers, _describe_all(role, fit, brand, edition, rng))


def _makers(n_missions: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Missions of one department draw from the same eight brands, so that loyalty can be carried on."""
    pools = {mission.department: rng.choice(len(BRANDS), 8, replace=False) for mission in MISSIONS}
    return np.stack([rng.choice(pools[m.department], N_MAKERS, replace=False) for m in MISSIONS[:n_missions]])


def _describe_all(
    role: NDArray[np.int64],
    fit: NDArray[np.int64],
    brand: NDArray[np.int64],
    edition: NDArray[np.int64],
    rng: np.random.Generator,
) -> pl.DataFrame:
    offer, price = rng.integers(len(OFFERS), size=len(role)), rng.integers(len(PRICE_BANDS), size=len(role))
    look = list(zip([OFFERS[i] for i in offer], [PRICE_BANDS[i] for i in price], strict=True))
    rows = [
        _impulse_page(BRANDS[b], IMPULSE[e], *looks) if r < 0 else _page(r, f, b, e, *looks)
        for r, f, b, e, looks in zip(role.tolist(), fit.tolist(), brand.tolist(), edition.tolist(), look, strict=True)
    ]
    ids = pl.Series("item_id", [f"P{number:05d}" for number in range(len(rows))])
    return pl.DataFrame(rows).insert_column(0, ids)


def _page(role: int, fit: int, brand: int, edition: int, offer: str, price: str) -> dict[str, object]:
    mission, stage = MISSIONS[role // N_STAGES], role % N_STAGES
    product, purpose = mission.stages[stage].split(": ")
    maker, series, size = BRANDS[brand], SERIES[(brand + edition) % len(SERIES)], mission.fits[fit]
    return {
        "title": f"{maker} {series} {product}, {size}, {offer}",
        "brand": maker,
        "categories": [mission.department, mission.name, product.capitalize()],
        "features": [f"Made for: {size}", f"Comes as: {offer}", purpose.capitalize()],
        "price_band": price,
        "description": f"The {series} {product} by {maker}: {purpose}. "
        f"Part of our {mission.name.lower()} range for {size}.",
    }


def _impulse_page(maker: str, product: str, offer: str, price: str) -> dict[str, object]:
    return {
        "title": f"{maker} {product}, {offer}",
        "brand": maker,
        "categories": ["Everyday", "Small Things", product.capitalize()],
        "features": [f"Comes as: {offer}", "Always useful"],
        "price_band": price,
        "description": f"{product.capitalize()} by {maker}: something everybody needs at some time.",
    }

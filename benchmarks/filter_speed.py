"""How long a filter's mask takes over a large catalogue: the first time, with new values, and kept (CPU time).

Run: python benchmarks/filter_speed.py [--items 1000000]
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median

import numpy as np
import polars as pl

from sidrec.data.catalog import Catalog

FILTERS = {
    "one brand of 5,000": ("brand=b17", "brand=b{}"),
    "a price range": ("20<=price<50", "20<=price<5{}"),
    "sold out": ("in_stock=false", "stock_level={}"),
    "a category (lists of 3)": ("categories=c3", "categories=c{}"),
    "a brand that none has": ("brand=bx", "brand=bx{}"),
    "four columns": (
        "brand=b1,b2 and price<60 and in_stock=true and not categories=c5",
        "brand=b2,b{0} and price<6{0} and in_stock=true and not categories=c1{0}",
    ),
}
LIMIT = 5.0


def catalog(n_items: int) -> Catalog:
    rng = np.random.default_rng(0)
    lists = pl.Series(rng.integers(0, 200, 3 * n_items)).cast(pl.String).reshape((n_items, 3)).arr.to_list()
    frame = pl.DataFrame(
        {
            "item_id": pl.Series(np.arange(n_items)).cast(pl.String),
            "brand": pl.Series(rng.integers(0, 5_000, n_items)).cast(pl.String),
            "price": rng.gamma(2.0, 20.0, n_items),
            "in_stock": rng.random(n_items) < 0.9,
            "stock_level": rng.integers(0, 100, n_items),
            "categories": lists,
        }
    )
    brand = pl.format("b{}", pl.col("brand")).alias("brand")
    return Catalog(frame.with_columns(brand, pl.col("categories").list.eval(pl.format("c{}", pl.element()))))


def milliseconds(catalog: Catalog, text: str) -> float:
    start = time.process_time()
    assert catalog.masks.allowed(None, text).mask is not None
    return (time.process_time() - start) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1_000_000)
    n_items = parser.parse_args().items
    items, rows = catalog(n_items), {}
    start = time.process_time()
    items.masks.prepare()
    prepared = (time.process_time() - start) * 1e3
    print(f"columns made ready, once   {prepared:8.1f} ms")
    for name, (text, another) in FILTERS.items():
        first = milliseconds(items, text)
        new = median(milliseconds(items, another.format(number)) for number in range(5, 10))
        kept = median(milliseconds(items, text) for _ in range(9))
        rows[name] = {"first_ms": first, "new_ms": new, "kept_ms": kept}
        print(f"{name:26} first {first:8.1f} ms   new values {new:6.2f} ms   kept {kept:6.2f} ms")
    slowest = {way: max(row[way] for row in rows.values()) for way in ("first_ms", "new_ms", "kept_ms")}
    within = {f"{way}_within_limit": slowest[way] <= LIMIT for way in slowest}
    print(json.dumps({"items": n_items, "prepared_ms": prepared, "filters": rows, "slowest": slowest, **within}))


if __name__ == "__main__":
    main()

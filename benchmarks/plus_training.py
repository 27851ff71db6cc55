"""What a training step of llada-rec-plus costs with the exact and the sampled softmax, at growing catalogues, and what
the sampled one learns at a million items.

    python benchmarks/plus_training.py [--items 4000 100000 1000000] [--users 20000] [--epochs 3]

The steps are those of one batch of 256 users with 7 targets each, taken in turns, medians; beyond `--exact-up-to` items
the exact softmax is left out. What is learned has a known answer: every user stays in one of n / 10 groups of ten items
that share their text, and has had eight of them, so who finds the group finds the next item among the ten best. With as
many groups, hardly one of a test user's was anybody else's: identity and popularity know nothing. Synthetic data; the
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time

import numpy as np
import torch

from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import known_answers
from sidrec.models.llada_rec_plus.recommender import LLaDARecPlus
from sidrec.models.request import Request
from sidrec.models.stock import Stock
from sidrec.nn.item_vectors import ItemFeatures
from sidrec.training.distributed import World
from sidrec.training.loop import train
from sidrec.training.optimizer import Optimizer
from sidrec.training.options import TrainingOptions
from sidrec.training.precision import choose_precision
from sidrec.training.steps import Steps

NAMES = {4_000: "4k", 100_000: "100k", 1_000_000: "1m"}
GROUP, LENGTH, TEXT_WIDTH, SIZES, ROUNDS = 10, 9, 128, (256,) * 4, 5


def known(n_items: int) -> ItemFeatures:
    """The items of a group share text and three of four codes."""
    draw = torch.Generator().manual_seed(0)
    group = torch.arange(n_items) // GROUP
    codes = torch.stack([group % 256, group // 256 % 256, group // 65_536, torch.arange(n_items) % GROUP], 1)
    return ItemFeatures(codes, SIZES, torch.randn(n_items // GROUP, TEXT_WIDTH, generator=draw)[group])


class Contestant:
    """One way of the softmax on one catalogue."""

    def __init__(self, softmax: str, data: Dataset, features: ItemFeatures, epochs: int) -> None:
        self.model = LLaDARecPlus(softmax=softmax, validation_users=1, training={"epochs": epochs})
        self.options: TrainingOptions = self.model.settings.training
        torch.manual_seed(0)
        self.network = self.model._build(data.n_items, features)
        self.objective = self.model._objective(data, data.cases("validation").take(np.arange(0)), features)
        precision, world = choose_precision("fp32", torch.device("cpu")), World.here("cpu")
        optimizer = Optimizer(self.network, self.options, 1_000, precision)
        self.steps = Steps(self.network, self.objective, self.options, world, precision, optimizer)

    def seconds(self, number: int) -> float:
        rows = np.arange(self.options.batch_size) + number * self.options.batch_size
        began = time.perf_counter()
        self.steps.take(rows % self.objective.n_samples, (0, number), number)
        return time.perf_counter() - began


def costs(n_items: int, exact_up_to: int) -> dict[str, float]:
    """Milliseconds of a step, one way after the other in every round."""
    data, features = _groups(n_items, 4_096), known(n_items)
    ways = ["sampled", "full"] if n_items <= exact_up_to else ["sampled"]
    contestants = [Contestant(way, data, features, epochs=1) for way in ways]
    times = [[one.seconds(number) for one in contestants] for number in range(ROUNDS + 1)][1:]
    sampled, *exact = ([1e3 * seconds for seconds in column] for column in zip(*times, strict=True))
    found = {"step_ms_sampled": statistics.median(sampled)}
    if exact:
        found["step_ms_exact"] = statistics.median(exact[0])
        found["exact_over_sampled"] = statistics.median(a / b for a, b in zip(exact[0], sampled, strict=True))
    return found


def learned(n_items: int, n_users: int, epochs: int) -> dict[str, float]:
    """Recall@10 on the test items of users whose next item is one of the two that are left in their group."""
    data, features = _groups(n_items, n_users), known(n_items)
    one = Contestant("sampled", data, features, epochs)
    began = time.perf_counter()
    train(one.network, one.objective, one.options)
    spent = time.perf_counter() - began
    one.model.network = one.network.eval()
    one.model._stock = Stock(data.catalog, data.train_counts())
    cases = data.cases("test").take(np.arange(min(n_users, 1_000)))
    found = one.model.rank(Request(cases.histories, 10, exclude_seen=True)).items
    popular = np.argsort(-data.train_counts(), kind="stable")[:10]
    return {
        "recall_at_10": float((found == cases.targets[:, None]).any(1).mean()),
        "recall_at_10_popularity": float(np.isin(cases.targets, popular).mean()),
        "training_seconds": spent,
    }


def _groups(n_items: int, n_users: int) -> Dataset:
    return known_answers.clusters(n_items // GROUP, GROUP, n_users, LENGTH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=sorted(NAMES))
    parser.add_argument("--exact-up-to", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    figures: dict[str, float] = {}
    for n_items in options.items:
        name = NAMES.get(n_items, str(n_items))
        found = costs(n_items, options.exact_up_to)
        figures |= {f"{key}_{name}": round(value, 2) for key, value in found.items()}
        exact = f", exact softmax {found['step_ms_exact']:,.0f} ms" if "step_ms_exact" in found else ""
        print(
            f"{n_items:>9,} items: a step with the sampled softmax {found['step_ms_sampled']:,.0f} ms{exact}",
            flush=True,
        )
    largest = max(options.items)
    name, found = NAMES.get(largest, str(largest)), learned(largest, options.users, options.epochs)
    figures |= {f"{key}_{name}": round(value, 4) for key, value in found.items()}
    figures["peak_memory_gb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
    print(
        f"{largest:>9,} items: Recall@10 {found['recall_at_10']:.3f}, training took {found['training_seconds']:.0f} s"
    )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

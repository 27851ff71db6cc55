"""Training speed: the literal step, our exact step, one pass per user at the paper's size; and at 128 wide and 2 layers
(the recipe of amazon2018-scientific) our step against the one before it. Ratios from one run.

Sequence lengths are drawn like those of a 5-core set (at least 5 items, mean about 8.6, heavy tail; the last two items
are held out). The contestants take turns and medians are compared, so a busy machine disturbs all of them alike.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from padded_step import PAD, padded_histories, padded_losses
from sidrec.data.histories import Histories
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.models.llada_rec.objective import OnePassObjective, PrefixObjective, make_objective
from sidrec.models.llada_rec.samples import every_prefix
from sidrec.nn.products import linear
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.training.objective import Batch

SIZES = (256, 256, 256, 256)
N_ITEMS, MAX_HISTORY, N_CODES = 25_000, 20, 4
D_MODEL, N_LAYERS, D_FF = 256, 4, 1024
RECIPE = {"d_model": 128, "n_heads": 4, "n_layers": 2, "d_ff": 256, "dropout": 0.2, "logit_temperature": 0.3}
RECIPE_BATCH = 256
ONE_PASS = {"attention": "inter-item-causal", "positions": "authors", "samples": "one-pass"}


def sequences(n_users: int, rng: np.random.Generator) -> Histories:
    lengths = np.minimum(5 + np.floor(rng.lognormal(0.45, 1.15, n_users)).astype(int), 200) - 2
    return Histories.from_lists([rng.integers(0, N_ITEMS, length).astype(np.int32) for length in lengths])


def settings(**values: object) -> LLaDARecSettings:
    base = {"d_model": D_MODEL, "n_heads": 8, "n_layers": N_LAYERS, "d_ff": D_FF, "max_history": MAX_HISTORY}
    return LLaDARecSettings.model_validate(base | values)


class Literal:
    """Two forward passes, everything padded to 84 tokens, every row's logits over the whole vocabulary."""

    def __init__(self, data: Histories, ids: SemanticIds) -> None:
        self.settings = settings(head="shared", masking={"history_input": "history-and-target"})
        self.network = MaskPredictor(ids, self.settings)
        for block in self.network.transformer.layers():
            block.attention_dropout = 0.1
        self.objective = PrefixObjective(data, N_CODES, self.settings)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), 1e-3, fused=True)

    def step(self, rows: np.ndarray, generator: torch.Generator) -> int:
        objective, network = self.objective, self.network
        pairs = objective.pairs(rows, generator)
        next_noise = objective._next_item_noise(len(rows), generator)
        past_noise = objective._history_noise(len(rows), MAX_HISTORY + 1, generator)
        history = padded_histories(pairs)
        padded = np.full((len(rows), MAX_HISTORY), PAD)
        padded[:, MAX_HISTORY - history.shape[1] :] = history
        every = torch.cat(
            [torch.from_numpy(padded).long(), torch.from_numpy(pairs.items[pairs.targets]).long()[:, None]], 1
        )
        visible = every != PAD
        masked = past_noise.masked & visible[..., None]
        self.optimizer.zero_grad(set_to_none=True)
        past = self._loss(every, visible, masked, past_noise.weight) / (MAX_HISTORY + 1)
        masked = torch.zeros_like(masked)
        masked[:, -1] = next_noise.masked
        weight = torch.ones_like(past_noise.weight)
        weight[:, -1] = next_noise.weight
        next_item = self._loss(every, visible, masked, weight)
        ((next_item + 3.0 * past) / len(rows)).backward()  # type: ignore[no-untyped-call]
        finish(network, self.optimizer)
        return len(rows)

    def _loss(self, items: Tensor, visible: Tensor, masked: Tensor, weight: Tensor) -> Tensor:
        hidden = self.network.hidden(items, masked, visible)
        logits = hidden @ self.network.head.flatten(0, 1).mT  # (rows, items, slots, whole vocabulary)
        right = self.network.item_tokens.codes_of(items) + torch.arange(N_CODES) * SIZES[0]
        token_losses = F.cross_entropy(logits[masked], right[masked], reduction="none")
        return (token_losses * weight[masked]).sum()


class Ours:
    """The training loop's step on one of our objectives."""

    def __init__(self, data: Histories, ids: SemanticIds, **values: object) -> None:
        self.settings = settings(**values)
        self.network = MaskPredictor(ids, self.settings)
        self.objective = make_objective(data, N_CODES, self.settings)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), 1e-3, fused=True)

    def step(self, rows: np.ndarray, generator: torch.Generator) -> int:
        self.optimizer.zero_grad(set_to_none=True)
        for total in self.totals(rows, generator):
            total.backward()  # type: ignore[no-untyped-call]
        finish(self.network, self.optimizer)
        if isinstance(self.objective, OnePassObjective):
            return int(self.objective.windows.n_targets[rows].sum())
        return len(rows)

    def totals(self, rows: np.ndarray, generator: torch.Generator) -> Iterator[Tensor]:
        for part in self.objective.parts(self.network, Batch(rows, slice(None), generator, 0, 0)):
            yield part.total


class Padded(Ours):
    """The step before sequences were packed."""

    def totals(self, rows: np.ndarray, generator: torch.Generator) -> Iterator[Tensor]:
        return padded_losses(self.objective, self.network, rows, generator)


def finish(network: MaskPredictor, optimizer: torch.optim.Optimizer) -> None:
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()


def peak_flops() -> float:
    """fp32 multiply-adds the machine reaches on a large product, as FLOP/s, by the quicker of torch's two libraries."""
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    times = []
    for product in (F.linear, linear) * 5:
        start = time.perf_counter()
        product(a, b)
        times.append(time.perf_counter() - start)
    return 2 * 2048**3 / min(times)


def exact_flops_per_sample(lengths: np.ndarray) -> float:
    """Forward and backward (three times forward) of both losses: next-item with a short last layer, and history."""
    n = lengths.astype(float) * N_CODES
    linear = 2 * (4 * D_MODEL**2 + 3 * D_MODEL * D_FF)
    attention = 4 * D_MODEL
    with_target = n + N_CODES
    full = with_target * linear + with_target**2 * attention
    last = with_target * 2 * 2 * D_MODEL**2 + N_CODES * (linear - 4 * D_MODEL**2) + N_CODES * with_target * attention
    history = N_LAYERS * (n * linear + n**2 * attention)
    head = 2 * D_MODEL * SIZES[0] * (0.625 * N_CODES + 0.5 * n)
    return float(3 * ((N_LAYERS - 1) * full + last + history + head).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    data = sequences(4000, rng)
    codes = rng.integers(0, 256, (N_ITEMS, N_CODES)).astype(np.int32)
    ids = SemanticIds(codes, SIZES, [str(item) for item in range(N_ITEMS)])
    contestants: dict[str, Literal | Ours] = {
        "literal: 2 passes, padded, all logits": Literal(data, ids),
        "exact: length groups, masked rows": Ours(data, ids, masking={"history_input": "history-and-target"}),
        "exact, the paper's inputs": Ours(data, ids),
        "one pass per user": Ours(data, ids, attention="inter-item-causal", positions="absolute", samples="one-pass"),
    }
    median = medians(contestants, rng, options.batch, options.rounds)
    recipe_size: dict[str, Literal | Ours] = {
        "every prefix, before": Padded(data, ids, **RECIPE),
        "every prefix": Ours(data, ids, **RECIPE),
        "one pass, before": Padded(data, ids, **RECIPE, **ONE_PASS),
        "one pass": Ours(data, ids, **RECIPE, **ONE_PASS),
    }
    at_128 = medians(recipe_size, rng, RECIPE_BATCH, 3 * options.rounds)
    report(median, at_128, peak_flops(), every_prefix(data, MAX_HISTORY).lengths, options)


def medians(
    contestants: Mapping[str, Literal | Ours], rng: np.random.Generator, batch: int, rounds: int
) -> dict[str, float]:
    """Samples per second of each, in turns; the contestants of a turn that can get the same rows do."""
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        seed = int(rng.integers(2**32))
        for name, contestant in contestants.items():
            speed = timed(contestant, np.random.default_rng(seed), batch, turn)
            if turn:  # the first one warms up
                speeds[name].append(speed)
    return {name: statistics.median(values) for name, values in speeds.items()}


def timed(contestant: Literal | Ours, rng: np.random.Generator, batch: int, turn: int) -> float:
    rows = rng.choice(contestant.objective.n_samples, batch, replace=False)
    generator = torch.Generator().manual_seed(turn)
    step: Callable[[np.ndarray, torch.Generator], int] = contestant.step
    start = time.perf_counter()
    samples = step(rows, generator)
    return samples / (time.perf_counter() - start)


def report(
    median: dict[str, float], at_128: dict[str, float], peak: float, lengths: np.ndarray, options: argparse.Namespace
) -> None:
    names = list(median)
    literal = median[names[0]]
    share = exact_flops_per_sample(lengths) * median[names[2]] / peak
    gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"d_model {D_MODEL}, {N_LAYERS} layers, batch {options.batch}, {options.threads} thread(s), dropout 0.1")
    print(f"mean history {lengths.mean():.1f} of {MAX_HISTORY} items; fp32 peak {peak / 1e9:.0f} GFLOP/s\n")
    print(f"{'way':42s} {'samples/s':>10s} {'x literal':>10s}")
    for name in names:
        print(f"{name:42s} {median[name]:10.1f} {median[name] / literal:10.2f}")
    print(f"\nexact step reaches {share:.0%} of the fp32 peak; peak memory {gib:.1f} GiB")
    print(f"\n128 wide, 2 layers, batch {RECIPE_BATCH}, dropout {RECIPE['dropout']}")
    for name, speed in at_128.items():
        print(f"{name:42s} {speed:10.1f}")
    figures = {
        "literal_samples_per_s": round(literal, 2),
        "exact_ratio": round(median[names[1]] / literal, 3),
        "exact_paper_inputs_ratio": round(median[names[2]] / literal, 3),
        "one_pass_ratio": round(median[names[3]] / literal, 3),
        "exact_share_of_peak": round(share, 3),
        "peak_gib": round(gib, 2),
        "at_128_every_prefix_samples_per_s": round(at_128["every prefix"], 1),
        "at_128_every_prefix_ratio": round(at_128["every prefix"] / at_128["every prefix, before"], 3),
        "at_128_one_pass_samples_per_s": round(at_128["one pass"], 1),
        "at_128_one_pass_ratio": round(at_128["one pass"] / at_128["one pass, before"], 3),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

"""The fast training step equals the literal one, for every option, and the loss is the bound the paper says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from reference import llada_losses as literal
from reference.random_ids import random_ids
from sidrec.data.histories import Histories
from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.llada_rec.loss import masked_loss, total_loss
from sidrec.models.llada_rec.masking import Noise, mask_by_ratio
from sidrec.models.llada_rec.network import MaskPredictor, masked_order
from sidrec.models.llada_rec.objective import OnePassObjective, PrefixObjective
from sidrec.models.llada_rec.packs import Places
from sidrec.models.llada_rec.samples import every_prefix
from sidrec.training.objective import Batch, Losses

SIZES = (5, 4, 3)
SEQUENCES = Histories.from_lists([[0, 1, 2, 3, 4], [5, 6], [7, 8, 9], [3], [10, 11, 0, 5, 2, 8, 6]])


def tiny(**values: object) -> LLaDARecSettings:
    base = {"d_model": 16, "n_heads": 2, "n_layers": 2, "dropout": 0.0, "max_history": 4, "logit_temperature": 0.7}
    return LLaDARecSettings.model_validate(base | values)


def network(settings: LLaDARecSettings) -> MaskPredictor:
    torch.manual_seed(1)
    module = MaskPredictor(random_ids(12, SIZES), settings)
    for parameter in module.parameters():  # far from the start, so that every part matters
        torch.nn.init.normal_(parameter, std=0.3)
    return module


def whole_batch(n: int, seed: int = 3) -> Batch:
    return Batch(np.arange(n), slice(None), torch.Generator().manual_seed(seed), 0, 0)


def gradients(module: MaskPredictor, loss: Tensor) -> list[Tensor]:
    module.zero_grad()
    loss.backward()
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in module.parameters()]


def literal_batch_loss(objective: PrefixObjective, module: MaskPredictor, batch: Batch) -> Tensor:
    """Draw the same noise, then go user by user."""
    n = len(batch.rows)
    pairs = objective.pairs(batch.rows, batch.generator)
    next_noise = objective._next_item_noise(n, batch.generator)
    past_noise = objective._history_noise(n, objective.settings.max_history + objective.joint, batch.generator)
    settings, total, codes = objective.settings, torch.zeros(()), module.item_tokens.codes
    scale = 1 / (settings.max_history + 1) if settings.masking.history_scale == "positions" else 1.0
    for row in range(n):
        history = codes[pairs.items[pairs.starts[row] : pairs.targets[row]]]
        target = codes[pairs.items[pairs.targets[row]]]
        if settings.next_item_loss:
            total = total + literal.next_item_loss(
                module, history, target, next_noise.masked[row], next_noise.weight[row]
            )
        items = torch.cat([history, target[None]]) if objective.joint else history
        masked, weight = (part[row, -len(items) :] for part in (past_noise.masked, past_noise.weight))
        past = literal.history_loss(module, items, masked, weight, with_target=objective.joint)
        total = total + settings.history_mask_weight * scale * past
    return total / n


OPTIONS = [
    {"masking": {"next_item": form, "history_ratio": ratio, "history_input": given, "history_scale": scale}}
    for form, ratio, given, scale in itertools.product(
        ("ratio", "exact-count"),
        ("per-sequence", "per-item"),
        ("history", "history-and-target"),
        ("sum", "positions"),
    )
] + [
    {"attention": "causal"},
    {"attention": "prefix"},
    {"attention": "inter-item-causal", "positions": "absolute"},
    {"attention": "intra-item-causal", "masking": {"history_input": "history-and-target"}},
    {"head": "shared"},
    {"head": "shared", "masking": {"history_input": "history-and-target"}},
    {"positions": "absolute"},
    {"positions": "authors"},
    {"history_mask_weight": 0.0},
    {"history_mask_weight": 0.0, "masking": {"history_input": "history-and-target"}},
    {"next_item_loss": False},
    {"next_item_loss": False, "masking": {"history_input": "history-and-target"}},
    {"samples": "one-prefix"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.slow
def test_fast_step_equals_the_literal_step(options: dict[str, object]) -> None:
    settings = tiny(**options)
    module = network(settings)
    objective = PrefixObjective(SEQUENCES, 3, settings)
    fast = sum(part.total for part in objective.parts(module, whole_batch(objective.n_samples)))
    slow = literal_batch_loss(objective, module, whole_batch(objective.n_samples))
    assert isinstance(fast, Tensor)
    assert fast.item() == pytest.approx(slow.item(), rel=1e-5)
    for ours, theirs in zip(gradients(module, fast), gradients(module, slow), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_one_pass_equals_every_prefix_target_by_target() -> None:
    """The same noise for the same target gives the same next-item loss and gradient, prefix by prefix."""
    settings = tiny(
        attention="inter-item-causal", positions="absolute", samples="one-pass", history_mask_weight=0.0, max_history=6
    )
    module = network(settings)
    one_pass = OnePassObjective(SEQUENCES, 3, settings)
    batch = whole_batch(one_pass.n_samples)
    drawn = one_pass._next_item_noise(len(batch.rows) * 6, torch.Generator().manual_seed(3))
    fast = sum(part.total for part in one_pass.parts(module, batch))
    pairs = every_prefix(SEQUENCES, 6)
    slow, row = torch.zeros(()), 0
    for window in range(len(one_pass.windows)):
        for number in range(int(one_pass.windows.n_targets[window])):
            history = module.item_tokens.codes[pairs.items[pairs.starts[row] : pairs.targets[row]]]
            target = module.item_tokens.codes[pairs.items[pairs.targets[row]]]
            at = window * 6 + number
            slow = slow + literal.next_item_loss(module, history, target, drawn.masked[at], drawn.weight[at])
            row += 1
    slow = slow / len(pairs)
    assert row == len(pairs)
    assert isinstance(fast, Tensor)
    assert fast.item() == pytest.approx(slow.item(), rel=1e-5)
    for ours, theirs in zip(gradients(module, fast), gradients(module, slow), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def summed(parts: Iterator[Losses]) -> dict[str, float]:
    every = list(parts)
    return {name: sum(part.terms[name].item() for part in every) for name in ("next_item", "history")}


def test_one_pass_history_loss_counts_items_as_often_as_prefixes_do() -> None:
    settings = tiny(attention="inter-item-causal", positions="absolute", samples="one-pass", max_history=6)
    module = network(settings)
    objective = OnePassObjective(Histories.from_lists([[0, 1, 2]]), 3, settings)
    everything = Noise(torch.ones(1, 6, 3, dtype=torch.bool), torch.ones(1, 6, 3))
    nothing = Noise(torch.zeros(1, 6, 3, dtype=torch.bool), torch.ones(1, 6, 3))
    passes = objective.passes(np.array([0]), np.array([0]))
    losses = summed(objective.losses(module, passes, (nothing, everything), 2))
    prefixes = [
        literal.history_loss(
            module,
            ids_codes,
            torch.ones_like(ids_codes, dtype=torch.bool),
            torch.ones(ids_codes.shape),
            with_target=False,
        )
        for ids_codes in (module.item_tokens.codes[[0]], module.item_tokens.codes[[0, 1]])
    ]
    assert losses["next_item"] == 0
    assert losses["history"] == pytest.approx(sum(p.item() for p in prefixes) / 7 / 2, rel=1e-5)


@pytest.mark.parametrize("positions", ["absolute", "authors"])
def test_company_does_not_change_a_windows_loss(positions: str) -> None:
    """Beside a longer window a shorter one's places stay where they were."""
    settings = tiny(attention="inter-item-causal", positions=positions, samples="one-pass", max_history=6)
    objective = OnePassObjective(Histories.from_lists([[0, 1, 2, 3, 4], [5, 6, 0]]), 3, settings)
    module, generator = network(settings), torch.Generator().manual_seed(0)
    noises = tuple(mask_by_ratio(torch.full((2, 1, 1), 0.5), (2, 6, 3), generator) for _ in range(2))
    together, first, second = (
        summed(objective.losses(module, objective.passes(np.arange(2), np.array(rows)), noises, 1))
        for rows in ([0, 1], [0], [1])
    )
    for name in ("next_item", "history"):
        assert together[name] == pytest.approx(first[name] + second[name], rel=1e-5)


def test_one_pass_with_the_authors_places_equals_the_last_prefix() -> None:
    """The last target of a window stands where a target stands that is asked for alone."""
    settings = tiny(attention="inter-item-causal", positions="authors", samples="one-pass", max_history=6)
    module, objective = network(settings).eval(), OnePassObjective(Histories.from_lists([[0, 1, 2, 3]]), 3, settings)
    places = Places.of(objective.passes(np.array([0]), np.array([0])).take(np.array([0])))
    codes = module.item_tokens.codes_of(torch.from_numpy(objective.sequences.items[places.at]).long())
    masked = torch.from_numpy(places.is_target & (places.ages == 0))[:, None].expand(-1, 3)
    last = module.packed_hidden(codes, masked, places)
    assert torch.allclose(last, module.target_hidden(torch.tensor([[0, 1, 2]]), torch.full((1, 3), -1))[0], atol=1e-5)


def test_nothing_masked_is_exactly_zero() -> None:
    settings = tiny()
    module, objective = network(settings), PrefixObjective(SEQUENCES, 3, settings)
    noises = tuple(Noise(torch.zeros(4, n, 3, dtype=torch.bool), torch.full((4, n, 3), 2.0)) for n in (1, 4))
    passes = objective.passes(every_prefix(SEQUENCES, 4).take(np.arange(4)), np.arange(4))
    (losses,) = objective.losses(module, passes, noises, 4)
    assert losses.total.item() == 0.0


def test_equations_by_hand() -> None:
    """-log 1/2 once with r = 1/2 and -log 1/4 once with r = 1: 2 log 2 + log 4 = 4 log 2."""
    token_losses = torch.tensor([math.log(2), math.log(4)])
    assert masked_loss(token_losses, torch.tensor([2.0, 1.0])).item() == pytest.approx(4 * math.log(2))
    assert total_loss(torch.tensor(1.0), torch.tensor(2.0), 3.0).item() == 7.0


@pytest.mark.parametrize("attention", ["bidirectional", "causal", "inter-item-causal", "intra-item-causal", "prefix"])
@pytest.mark.parametrize("positions", ["from-newest", "absolute", "authors"])
def test_company_does_not_change_a_users_loss(attention: str, positions: str) -> None:
    settings = tiny(attention=attention, positions=positions)
    module, objective = network(settings), PrefixObjective(SEQUENCES, 3, settings)
    pairs = every_prefix(SEQUENCES, 4)
    generator = torch.Generator().manual_seed(0)
    noises = (
        objective._next_item_noise(len(pairs), generator).in_one_column(),
        objective._history_noise(len(pairs), 4, generator),
    )
    together = summed(objective.losses(module, objective.passes(pairs, np.arange(len(pairs))), noises, 1))
    alone = [
        summed(objective.losses(module, objective.passes(pairs, np.array([row])), noises, 1))
        for row in range(len(pairs))
    ]
    for name in ("next_item", "history"):
        assert together[name] == pytest.approx(sum(losses[name] for losses in alone), rel=1e-5)


def test_specials_and_foreign_codes_are_never_predicted() -> None:
    for head in ("per-slot", "shared"):
        module = network(tiny(head=head))
        hidden = torch.randn(2, 3, 16)
        probs = module.log_probs(hidden).exp()  # (rows, slots, K): only codes have an output at all
        assert probs.shape == (2, 3, 5)
        assert (probs[:, 1, 4:] == 0).all() and (probs[:, 2, 3:] == 0).all()
        sums = probs.sum(-1)
        assert torch.allclose(sums, torch.ones(2, 3)) if head == "per-slot" else (sums < 1).all()


def test_token_losses_equal_the_dense_log_probabilities() -> None:
    for head in ("per-slot", "shared"):
        module = network(tiny(head=head))
        hidden, masked = torch.randn(6, 3, 16), torch.rand(6, 3) < 0.5
        codes = torch.stack([torch.randint(0, size, (6,)) for size in SIZES], 1)
        dense = -module.log_probs(hidden).gather(-1, codes[..., None]).squeeze(-1)
        rows, right = hidden.transpose(0, 1)[masked.mT], masked_order(codes, masked)
        found = module.token_losses(rows, right, masked.sum(0).tolist())
        assert torch.allclose(found, masked_order(dense, masked), atol=1e-6)


def test_packs_do_not_change_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small packs cut runs of one length in two; a pass longer than a pack goes alone."""
    settings = tiny()
    module, objective = network(settings), PrefixObjective(SEQUENCES, 3, settings)
    (whole,) = objective.parts(module, whole_batch(objective.n_samples))
    monkeypatch.setattr("sidrec.models.llada_rec.packs.PACK_TOKENS", 12)
    parts = list(objective.parts(module, whole_batch(objective.n_samples)))
    assert len(parts) > 5
    assert sum(part.total.item() for part in parts) == pytest.approx(whole.total.item(), rel=1e-5)


# ---- Eq. loss_prob_bound: K = 3, M = 3, a tabulated predictor --------------------------------------------------------


def table_predictor(seed: int, order_free: bool) -> literal.Predictor:
    """Random P(code | partly filled ID); an order-free one comes from a joint distribution of independent slots."""

    def predict(filled: tuple[int | None, ...]) -> list[list[float]]:
        state = (0, 0, 0) if order_free else tuple(-1 if code is None else code for code in filled)
        rng = np.random.default_rng([seed, *[code + 1 for code in state]])
        return rng.dirichlet(np.ones(3), size=3).tolist()

    return predict


@pytest.mark.parametrize("seed", range(5))
def test_next_item_loss_bounds_the_likelihood_from_above(seed: int) -> None:
    predict = table_predictor(seed, order_free=False)
    for target in itertools.product(range(3), repeat=3):
        bound = literal.expected_next_item_loss(predict, target)
        exact = -literal.log_probability_over_orders(predict, target)
        assert exact < bound  # strictly: different orders disagree


def test_the_bound_is_tight_for_an_order_independent_predictor() -> None:
    predict = table_predictor(11, order_free=True)
    for target in itertools.product(range(3), repeat=3):
        bound = literal.expected_next_item_loss(predict, target)
        assert bound == pytest.approx(-literal.log_probability_over_orders(predict, target), rel=1e-9)


@pytest.mark.parametrize("form", ["ratio", "exact-count"])
def test_our_noise_gives_the_expected_loss(form: str) -> None:
    """Averaged over many draws, masks and weights reproduce the closed form that the bound is about."""
    predict, target = table_predictor(2, order_free=False), (2, 0, 1)
    objective = PrefixObjective(SEQUENCES, 3, tiny(masking={"next_item": form, "ratio_floor": 1e-3}))
    noise = objective._next_item_noise(60_000, torch.Generator().manual_seed(0))
    token_losses = torch.zeros(2, 2, 2, 3)
    for hidden in itertools.product([0, 1], repeat=3):
        probs = predict(tuple(None if h else code for h, code in zip(hidden, target, strict=True)))
        token_losses[hidden] = torch.tensor([-math.log(probs[slot][target[slot]]) for slot in range(3)])
    picked = token_losses[tuple(noise.masked.long().T)]  # (draws, slots)
    mean = (picked * noise.masked * noise.weight).sum(-1).mean().item()
    assert mean == pytest.approx(literal.expected_next_item_loss(predict, target), rel=0.02)

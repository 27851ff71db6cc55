"""Masks: how often, with which weight, and that nothing else decides them."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.models.llada_rec.masking import history_noise, mask_by_ratio, next_item_noise, stratified_ratios


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(n=st.integers(1, 300), floor=st.floats(0.001, 0.5), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_ratios_are_stratified(n: int, floor: float, seed: int) -> None:
    ratios = stratified_ratios(n, floor, generator(seed))
    strata = ((ratios.sort().values - floor) / (1 - floor) * n).double()
    assert ((strata >= torch.arange(n) - 1e-3) & (strata <= torch.arange(n) + 1 + 1e-3)).all()


def test_ratio_masks_hide_as_often_as_they_say() -> None:
    noise = mask_by_ratio(torch.tensor([[0.2], [0.7]]), (2, 20000), generator())
    assert torch.allclose(noise.masked.float().mean(1), torch.tensor([0.2, 0.7]), atol=0.01)
    assert torch.allclose(noise.weight[:, 0], torch.tensor([5.0, 1 / 0.7]))


@given(n_codes=st.integers(1, 6), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_exact_counts_are_balanced_and_weighted(n_codes: int, seed: int) -> None:
    noise = next_item_noise(n_codes * 10, n_codes, "exact-count", 0.01, generator(seed))
    hidden = noise.masked.sum(1)
    assert torch.bincount(hidden, minlength=n_codes + 1).tolist() == [0] + [10] * n_codes
    assert torch.allclose(noise.weight, (n_codes / hidden)[:, None].expand(-1, n_codes))


def test_every_slot_is_hidden_equally_often() -> None:
    noise = next_item_noise(40000, 4, "exact-count", 0.01, generator())
    assert torch.allclose(noise.masked.float().mean(0), torch.full((4,), 0.625), atol=0.01)


def test_both_forms_weigh_tokens_alike_on_average() -> None:
    """E[masked / r] is 1 for the ratio form without a floor, and for exact counts E[masked * M / n] is 1 too."""
    for kind in ("ratio", "exact-count"):
        noise = next_item_noise(200_000, 4, kind, 1e-4, generator())  # type: ignore[arg-type]
        assert torch.allclose((noise.masked * noise.weight).mean(0), torch.ones(4), atol=0.02)


def test_history_ratio_per_sequence_is_one_number() -> None:
    noise = history_noise((3, 5, 4), "per-sequence", 0.01, generator())
    assert (noise.weight.flatten(1) == noise.weight[:, :1, 0]).all()


def test_history_ratio_per_item_takes_the_authors_levels() -> None:
    noise = history_noise((500, 6, 4), "per-item", 0.01, generator())
    assert torch.allclose(noise.weight.unique(), torch.tensor([0.0, 1.0, 4 / 3, 2.0, 4.0]))
    assert not noise.masked[noise.weight == 0].any()
    assert noise.masked[noise.weight == 1].all()

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.gaussian_chain import bayes_posterior, walk
from sidrec.nn.gaussian_diffusion import GaussianDiffusion, guided, noise_levels, step_features

SCHEDULES = ("linear", "cosine", "truncated-linear", "sqrt")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_noising_at_once_is_noising_link_by_link(schedule):
    chain, betas = GaussianDiffusion(12, schedule), noise_levels(schedule, 12).tolist()
    for step in (0, 1, 5, 12):
        mean, variance = walk(betas[:step], clean=0.7)
        at = torch.tensor(step)
        still = chain.noised(torch.tensor([0.7]), at, torch.zeros(1))
        noise_only = chain.noised(torch.zeros(1), at, torch.ones(1))
        assert float(still) == pytest.approx(mean, abs=1e-5)
        assert float(noise_only) == pytest.approx(variance**0.5, abs=1e-5)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("n_steps", [8, 32, 1000])
def test_every_schedule_ends_in_noise_and_only_ever_adds_it(schedule, n_steps):
    kept = GaussianDiffusion(n_steps, schedule).kept
    assert kept[0] == 1
    assert (kept[1:] < kept[:-1]).all()
    assert 0 <= kept[-1] < 0.01


@settings(max_examples=40, deadline=None)
@given(
    schedule=st.sampled_from(SCHEDULES),
    start=st.integers(1, 10),
    back=st.integers(1, 10),
    noisy=st.floats(-3, 3),
    clean=st.floats(-3, 3),
)
def test_the_posterior_is_bayes_rule_for_jumps_of_any_width(schedule, start, back, noisy, clean):
    to = max(start - back, 0)
    mean, deviation = GaussianDiffusion(10, schedule).posterior(
        torch.tensor([noisy]), torch.tensor([clean]), (start, to)
    )
    betas = noise_levels(schedule, 10).tolist()[:start]
    expected_mean, expected_deviation = bayes_posterior(betas, to, noisy, clean)
    assert float(mean) == pytest.approx(expected_mean, abs=2e-3)
    assert float(deviation) == pytest.approx(expected_deviation, abs=2e-3)


def test_the_deterministic_path_keeps_the_marginals():
    """With the right x_0 every x_t on the path is sqrt(abar) x_0 + sqrt(1 - abar) noise with the same noise."""
    chain = GaussianDiffusion(50, "cosine")
    clean, noise = torch.randn(5), torch.randn(5)
    x = chain.noised(clean, torch.tensor(50), noise)
    for jump in chain.backwards(4):
        x, deviation = chain.posterior(x, clean, jump, eta=0.0)
        assert deviation == 0
        torch.testing.assert_close(x, chain.noised(clean, torch.tensor(jump[1]), noise), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(x, clean, rtol=1e-4, atol=1e-4)


def test_jumps_lead_from_noise_to_clean():
    chain = GaussianDiffusion(10, "linear")
    assert chain.backwards(3) == [(10, 7), (7, 3), (3, 0)]
    assert chain.backwards(1) == [(10, 0)]
    assert chain.backwards(99) == [(step, step - 1) for step in range(10, 0, -1)]


def test_guidance_by_hand():
    with_history, without = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0])
    assert guided(with_history, without, 0.0).tolist() == [1.0, 2.0]
    assert guided(with_history, without, 2.0).tolist() == [3.0, -2.0]


def test_step_features_tell_steps_apart():
    features = step_features(torch.arange(200), 8)
    assert features.shape == (200, 8)
    distances = torch.cdist(features, features) + 9 * torch.eye(200)
    assert distances.min() > 0.005
    assert step_features(torch.tensor(0), 5).tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]

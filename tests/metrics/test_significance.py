from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sidrec.core.errors import InputError
from sidrec.metrics import significance
from sidrec.metrics.significance import bootstrap_interval, bootstrap_means, holm, paired_bootstrap, paired_t_test

values = st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), min_size=2, max_size=60).map(np.array)


def test_bootstrap_of_a_coin_is_the_normal_interval():
    coin = np.repeat([0.0, 1.0], [7000, 3000])
    interval = bootstrap_interval(coin, n_samples=20_000)
    half = 1.96 * np.sqrt(0.3 * 0.7 / 10_000)
    assert interval.low == pytest.approx(0.3 - half, abs=5e-4)
    assert interval.high == pytest.approx(0.3 + half, abs=5e-4)


def test_bootstrap_agrees_with_resampling_row_by_row():
    rng = np.random.default_rng(1)
    sample = rng.exponential(size=200)
    slow = np.array([rng.choice(sample, 200).mean() for _ in range(4000)])
    fast = bootstrap_means(sample, 4000, seed=2)
    assert stats.ks_2samp(slow, fast).pvalue > 0.01


def test_memory_bound_does_not_change_the_answer(monkeypatch):
    sample = np.random.default_rng(0).random(50)
    whole = bootstrap_means(sample, 300, seed=4)
    monkeypatch.setattr(significance, "_CELLS", 1000)
    assert (bootstrap_means(sample, 300, seed=4) == whole).all()


def test_same_seed_same_interval():
    sample = np.random.default_rng(3).random(80)
    assert bootstrap_interval(sample, seed=9) == bootstrap_interval(sample, seed=9)
    assert bootstrap_interval(sample, seed=9) != bootstrap_interval(sample, seed=10)


def test_t_test_is_the_textbook_one():
    first, second = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 5.0, 5.0])
    test = paired_t_test(first, second)  # differences 1 0 2 1: mean 1, standard error 1/sqrt(6)
    assert test.difference == 1.0
    assert test.p_value == pytest.approx(2 * stats.t.sf(np.sqrt(6), 3))
    assert test.interval.low == pytest.approx(1 - stats.t.ppf(0.975, 3) / np.sqrt(6))


@pytest.mark.parametrize(("shift", "p_value"), [(0.0, 1.0), (0.25, 0.0)])
def test_t_test_without_spread_warns_about_nothing(shift, p_value):
    first = np.array([0.0, 0.5, 1.0])
    test = paired_t_test(first, first + shift)
    assert (test.difference, test.p_value) == (shift, p_value)


@pytest.mark.parametrize("test", [paired_t_test, paired_bootstrap])
def test_a_real_difference_is_found(test):
    rng = np.random.default_rng(5)
    first = (rng.random(4000) < 0.10).astype(float)
    better = np.maximum(first, rng.random(4000) < 0.03)
    assert test(first, better).p_value < 0.001
    assert test(first, better).interval.low > 0


@pytest.mark.parametrize("test", [paired_t_test, lambda a, b: paired_bootstrap(a, b, n_samples=500)])
def test_equal_models_are_called_different_one_time_in_twenty(test):
    rng = np.random.default_rng(5)
    draws = (rng.random((400, 2, 600)) < 0.2).astype(float)
    called = sum(test(first, second).p_value < 0.05 for first, second in draws)
    # 400 draws at 5 %: 20 expected, and fewer than 1 in 1,000 outside of these bounds
    assert stats.binom.ppf(0.0005, 400, 0.05) <= called <= stats.binom.ppf(0.9995, 400, 0.05)


@settings(max_examples=30, deadline=None)
@given(values, st.integers(0, 5))
def test_turning_the_pair_turns_the_sign(first, seed):
    second = np.random.default_rng(seed).permutation(first)
    there, back = paired_bootstrap(first, second, n_samples=500), paired_bootstrap(second, first, n_samples=500)
    assert there.difference == pytest.approx(-back.difference)
    assert paired_t_test(first, second).p_value == pytest.approx(paired_t_test(second, first).p_value)
    assert 0 < there.p_value <= 1


@settings(max_examples=30, deadline=None)
@given(values)
def test_the_interval_stays_within_the_values_and_holds_the_mean(sample):
    interval = bootstrap_interval(sample, n_samples=400, confidence=0.999)
    assert sample.min() - 1e-12 <= interval.low <= sample.mean() + 1e-12
    assert sample.mean() - 1e-12 <= interval.high <= sample.max() + 1e-12


def test_wrong_input_in_words():
    with pytest.raises(InputError, match="no users"):
        bootstrap_interval(np.empty(0))
    with pytest.raises(InputError, match="2 and 3 values cannot be paired"):
        paired_t_test(np.zeros(2), np.zeros(3))
    with pytest.raises(InputError, match="at least two users"):
        paired_t_test(np.zeros(1), np.ones(1))


def test_holm_by_hand():
    # sorted .01 .02 .03 .04 times 4 3 2 1 is .04 .06 .06 .04, and may not fall
    assert holm(np.array([0.04, 0.01, 0.03, 0.02])) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm(np.array([0.9, 0.6])) == pytest.approx([1.0, 1.0])
    assert holm(np.empty(0)).tolist() == []

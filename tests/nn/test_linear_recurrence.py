from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.recurrence import step_by_step
from sidrec.nn.linear_recurrence import LinearRecurrence, scan


def test_a_halving_state_by_hand():
    states = scan(torch.tensor([0.5]), torch.ones(1, 4, 1))
    assert states.flatten().tolist() == [1.0, 1.5, 1.75, 1.875]


@settings(max_examples=25, deadline=None)
@given(length=st.integers(1, 23), seed=st.integers(0, 2**31))
def test_the_scan_is_the_recurrence(length, seed):
    draw = torch.Generator().manual_seed(seed)
    inputs = torch.randn(2, length, 3, dtype=torch.complex128, generator=draw)
    decay = torch.polar(torch.rand(3, dtype=torch.float64, generator=draw), torch.rand(3, dtype=torch.float64) * 6)
    torch.testing.assert_close(scan(decay, inputs), step_by_step(decay, inputs))


def test_gradients_of_the_scan_are_those_of_the_recurrence():
    inputs = torch.randn(1, 7, 2, dtype=torch.complex128)
    grads = []
    for way in (scan, step_by_step):
        decay = torch.tensor([0.9 + 0.1j, -0.3 + 0.5j], dtype=torch.complex128, requires_grad=True)
        way(decay, inputs).abs().square().sum().backward()
        grads.append(decay.grad)
    torch.testing.assert_close(grads[0], grads[1])


def test_one_step_at_a_time_gives_what_the_scan_gives():
    torch.manual_seed(1)
    layer = LinearRecurrence(d_model=4, width=6)
    inputs = torch.randn(3, 9, 4)
    state, outs = layer.start(3), []
    for column in inputs.unbind(1):
        state, out = layer.step(state, column)
        outs.append(out)
    torch.testing.assert_close(torch.stack(outs, dim=1), layer(inputs), rtol=1e-4, atol=1e-5)


def test_it_stays_stable_wherever_the_optimiser_goes():
    layer = LinearRecurrence(d_model=2, width=5)
    with torch.no_grad():
        layer.nu.copy_(torch.tensor([-8.0, -1.0, 0.0, 3.0, 50.0]))
    assert (layer.decay().abs() < 1).all()


def test_the_starting_states_have_the_variance_of_their_inputs():
    torch.manual_seed(2)
    layer = LinearRecurrence(d_model=2, width=64, min_modulus=0.5, max_modulus=0.9)
    driven = torch.randn(64, 200, 64, dtype=torch.complex64) * torch.exp(layer.gamma)
    spread = scan(layer.decay(), driven)[:, 100:].abs().square().mean((0, 1))
    torch.testing.assert_close(spread, torch.ones(64), rtol=0.15, atol=0)

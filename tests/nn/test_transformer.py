"""The block against its slow twin, and every shortcut against the plain forward."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reference import attention as slow
from sidrec.nn.attention_masks import PATTERNS, attention_mask, sequence_tokens, without_padding
from sidrec.nn.transformer import KeysValues, Transformer, TransformerBlock

N_HISTORY, N_CODES, D = 3, 2, 8
LENGTH = (N_HISTORY + 1) * N_CODES


def lively(module: torch.nn.Module) -> torch.nn.Module:
    """Weights far from their small start, so that attention is far from uniform."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.6)
    return module.eval()


def block(**options) -> TransformerBlock:
    return lively(TransformerBlock(D, n_heads=2, d_ff=12, **options))


def stack(n_layers=3, **options) -> Transformer:
    return lively(Transformer(n_layers, D, n_heads=2, d_ff=12, **options))


def inputs(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_block_equals_the_slow_twin(pattern):
    layer, x = block(), inputs(1, LENGTH, D)
    mask = attention_mask(pattern, sequence_tokens(N_HISTORY, N_CODES))
    weights = {name: tensor.double().numpy() for name, tensor in layer.state_dict().items()}
    expected = slow.block(x[0].double().numpy(), weights, 2, mask.numpy())
    np.testing.assert_allclose(layer(x, mask)[0].detach().numpy(), expected, rtol=2e-4, atol=2e-5)


def test_causal_flag_is_the_causal_pattern():
    model, x = stack(), inputs(2, LENGTH, D)
    close(model(x, is_causal=True), model(x, attention_mask("causal", sequence_tokens(N_HISTORY, N_CODES))))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("rows", [slice(-2, None), torch.tensor([5, 1]), torch.tensor([[0, 7, 3], [2, 2, 6]])])
def test_chosen_rows_equal_the_rows_of_a_full_forward(pattern, rows):
    model, x = stack(), inputs(2, LENGTH, D)
    mask = attention_mask(pattern, sequence_tokens(N_HISTORY, N_CODES))
    full = model(x, mask)
    if isinstance(rows, torch.Tensor) and rows.ndim == 2:
        expected = torch.stack([full[0, rows[0]], full[1, rows[1]]])
    else:
        expected = full[:, rows]
    close(model(x, mask, rows=rows), expected)
    padded = without_padding(mask, torch.ones(2, LENGTH, dtype=torch.bool))
    close(model(x, padded, rows=rows), expected)


def test_chosen_rows_refuse_the_causal_flag():
    with pytest.raises(ValueError, match="explicit mask"):
        stack()(inputs(1, 4, D), is_causal=True, rows=slice(0, 1))


@pytest.mark.parametrize("pattern", ["prefix", "inter-item-causal", "causal"])
def test_beams_on_a_kept_history_equal_full_attention(pattern):
    """Every beam, with the history repeated for it, through the plain forward."""
    users, beams, n_tokens = 2, 3, N_HISTORY * N_CODES
    model = stack()
    history, targets = inputs(users, n_tokens, D), inputs(users, beams, N_CODES, D, seed=1)
    tokens = sequence_tokens(N_HISTORY, N_CODES)
    mask = attention_mask(pattern, tokens)
    _, kept = model.encode(history, mask[:n_tokens, :n_tokens], n_kept=n_tokens)
    own = mask[n_tokens:, n_tokens:]
    fast = model.with_history(targets, kept, own_mask=own)
    for beam in range(beams):
        whole = torch.cat([history, targets[:, beam]], dim=1)
        close(fast[:, beam], model(whole, mask)[:, n_tokens:])


def test_kept_history_hides_padding():
    model, n_tokens = stack(), N_HISTORY * N_CODES
    history, targets = inputs(2, n_tokens, D), inputs(2, 2, N_CODES, D, seed=1)
    real = torch.ones(2, n_tokens, dtype=torch.bool)
    real[1, :4] = False
    everything = torch.ones(n_tokens, n_tokens, dtype=torch.bool)
    _, kept = model.encode(history, without_padding(everything, real), n_kept=n_tokens)
    _, short = model.encode(history[1:, 4:], None, n_kept=2)
    close(model.with_history(targets, kept, real)[1], model.with_history(targets[1:], short)[0])


def test_each_beam_may_see_its_own_part_of_the_history():
    model, n_tokens = stack(n_layers=2), N_HISTORY * N_CODES
    history, targets = inputs(1, n_tokens, D), inputs(1, N_HISTORY, N_CODES, D, seed=1)
    causal = attention_mask("inter-item-causal", sequence_tokens(N_HISTORY, N_CODES, n_targets=0))
    _, kept = model.encode(history, causal, n_kept=n_tokens)
    visible = torch.arange(n_tokens)[None, :] < N_CODES * torch.arange(N_HISTORY)[:, None]
    fast = model.with_history(targets, kept, visible[None])
    for number in range(N_HISTORY):
        prefix = [KeysValues(k[:, :, : N_CODES * number], v[:, :, : N_CODES * number]) for k, v in kept]
        close(fast[:, number], model.with_history(targets[:, number : number + 1], prefix)[:, 0])


def test_mask_rows_in_the_history_pass_cost_no_second_pass():
    model, n_tokens = stack(), N_HISTORY * N_CODES
    x = inputs(2, LENGTH, D)
    mask = attention_mask("prefix", sequence_tokens(N_HISTORY, N_CODES))
    first, kept = model.encode(x, mask, n_kept=n_tokens, rows=slice(n_tokens, None))
    close(first, model(x, mask)[:, n_tokens:])
    close(first, model.with_history(x[:, None, n_tokens:], kept)[:, 0])


def test_gradients_of_a_kept_history_equal_full_attention():
    model, n_tokens = stack(n_layers=2), N_HISTORY * N_CODES
    x = inputs(2, LENGTH, D)
    mask = attention_mask("prefix", sequence_tokens(N_HISTORY, N_CODES))
    model(x, mask)[:, n_tokens:].square().sum().backward()
    plain = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    _, kept = model.encode(x[:, :n_tokens], None, n_kept=n_tokens)
    model.with_history(x[:, None, n_tokens:], kept).square().sum().backward()
    for a, b in zip(plain, [p.grad for p in model.parameters()], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4 * float(a.abs().max()))


def test_padding_changes_nothing_and_never_becomes_nan():
    model, x = stack(), inputs(1, 4, D)
    padded = torch.cat([x, inputs(1, 3, D, seed=5) * 100], dim=1).requires_grad_()
    real = torch.tensor([[True] * 4 + [False] * 3])
    out = model(padded, without_padding(torch.ones(7, 7, dtype=torch.bool), real))
    close(out[:, :4], model(x))
    out[:, :4].sum().backward()
    assert torch.equal(padded.grad[:, 4:], torch.zeros(1, 3, D))
    assert torch.isfinite(out).all()


@pytest.mark.parametrize("where", ["dropout", "attention_dropout"])
def test_dropout_acts_in_training_only(where):
    model, x = stack(**{where: 0.5}), inputs(1, LENGTH, D)
    calm = model(x)
    assert torch.equal(model(x), calm)
    torch.manual_seed(3)
    assert not torch.allclose(model.train()(x), calm)


def test_attention_dropout_reaches_kept_histories():
    model, x = stack(attention_dropout=0.5), inputs(1, 2, N_CODES, D)
    _, kept = model.encode(inputs(1, 4, D), None, n_kept=4)
    assert not torch.allclose(model.train().with_history(x, kept), model.eval().with_history(x, kept))


def test_all_matrices_start_alike():
    model = Transformer(8, 64, n_heads=4, d_ff=128)
    for layer in model.layers():
        for linear in (layer.project_qkv, layer.project_out, layer.gate_and_up, layer.down):
            assert linear.weight.std().item() == pytest.approx(0.05, rel=0.05)
    assert not [name for name, _ in model.named_parameters() if "bias" in name]


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="multiple"):
        TransformerBlock(10, n_heads=4, d_ff=8)

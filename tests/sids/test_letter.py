"""LETTER's three terms on cases a person can check, and what they do to the codes."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
import torch

from sidrec.core.errors import SettingsError
from sidrec.sids.inputs import TokenizerInputs
from sidrec.sids.letter import Letter, LetterObjective, alignment_loss, diversity_loss
from sidrec.sids.vae_tokenizer import QuantisationObjective
from sidrec.training.objective import Batch

SMALL = {"codebook_size": 6, "n_codes": 2, "hidden": (16,), "code_width": 4, "pca": None, "n_groups": 2}
QUICK = {"training": {"epochs": 30, "batch_size": 60, "learning_rate": 0.01}}


def test_the_collaborative_term_by_hand() -> None:
    """Two items: z1 = (1, 0), z2 = (0, 2); h1 = (1, 0), h2 = (0, 1)."""
    quantised, others = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.eye(2)
    losses = alignment_loss(quantised, others, torch.tensor([0, 1]))
    assert losses.tolist() == pytest.approx([-log(exp(1) / (exp(1) + 1)), -log(exp(2) / (exp(2) + 1))])


def test_the_diversity_term_by_hand() -> None:
    """Codes (1), (2), (-1) of one slot: from code 0 the positive 1 competes with 2 only, never with itself."""
    vectors = torch.tensor([[[1.0], [2.0], [-1.0]]])
    codes, positives = torch.tensor([[0], [2], [1]]), torch.tensor([[1], [0], [1]])
    losses = diversity_loss(vectors, codes, positives)
    first, second = -log(exp(2) / (exp(2) + exp(-1))), -log(exp(-1) / (exp(-1) + exp(-2)))
    assert losses.tolist() == pytest.approx([first, second, 0.0])  # the last has nobody in its group


def data(n: int = 60) -> TokenizerInputs:
    """Text says loudly which of six things an item is, and quietly which of two kinds of people had it."""
    rng = np.random.default_rng(0)
    people = np.arange(n) // (n // 2)
    text = 2 * rng.normal(size=(6, 5))[np.arange(n) % 6] + 0.3 * rng.normal(size=(n, 5))
    text[:, 4] = 0.5 * (2 * people - 1) + 0.05 * rng.normal(size=n)
    behaviour = rng.normal(size=(2, 8))[people] + 0.05 * rng.normal(size=(n, 8))
    return TokenizerInputs(text.astype(np.float32), behaviour.astype(np.float32))


def objective(given: TokenizerInputs, **values: object) -> LetterObjective:
    tokenizer = Letter(**{**SMALL, **values})
    return LetterObjective(given.text, tokenizer.settings, tokenizer._aligned_with(given))


def test_the_total_is_the_sum_of_three_terms_and_shares_add_up() -> None:
    given = data()
    tokenizer = Letter(**SMALL)
    torch.manual_seed(0)
    model = tokenizer._build(5)
    model.start_codebooks(torch.from_numpy(given.text), 0)
    batch = Batch(np.arange(20), slice(None), torch.Generator().manual_seed(1), 0, 0)
    (losses,) = objective(given).parts(model, batch)
    (plain,) = QuantisationObjective(given.text, tokenizer.settings).parts(model, batch)
    further = losses.terms["alignment"] + losses.terms["diversity"]
    assert losses.total.item() == pytest.approx((plain.total + further).item(), rel=1e-5)
    (twice,) = objective(given, alignment_weight=2.0).parts(
        model, Batch(np.arange(20), slice(None), torch.Generator().manual_seed(1), 0, 0)
    )
    assert float(twice.terms["alignment"]) == pytest.approx(2 * float(losses.terms["alignment"]), rel=1e-5)
    parts = []
    for mine in (slice(0, 7), slice(7, None)):
        generator = torch.Generator().manual_seed(1)
        parts += list(objective(given).parts(model, Batch(np.arange(20), mine, generator, 0, 0)))
    assert sum(part.total.item() for part in parts) == pytest.approx(losses.total.item(), rel=1e-5)


@pytest.mark.slow
def test_codes_come_to_know_who_had_the_items() -> None:
    given = data()
    asked = Letter(**SMALL)._aligned_with(given)
    assert asked is not None

    def disagreement(weight: float) -> float:
        fitted = Letter(**{**SMALL, **QUICK, "alignment_weight": weight, "diversity_weight": 0.0})
        codes = fitted.fit(given if weight else given.text).encode(given.text)
        quantised = fitted._model.books.take(torch.from_numpy(codes).long()).sum(1).detach()
        return float(alignment_loss(quantised, torch.from_numpy(asked), torch.arange(60)).mean())

    assert disagreement(30.0) < 0.9 * disagreement(0.0)


@pytest.mark.slow
def test_behaviour_is_needed_to_learn_and_not_to_encode() -> None:
    given = data()
    with pytest.raises(SettingsError, match="needs collaborative vectors as well"):
        Letter(**SMALL).fit(given.text)
    fitted = Letter(**{**SMALL, "training": {"epochs": 2}}).fit(given)
    assert (fitted.encode(given) == fitted.encode(given.text)).all()
    again = Letter.from_state(fitted.settings, fitted.state())
    assert (again.encode(given.text) == fitted.encode(given.text)).all()

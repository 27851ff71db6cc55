from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sidrec.sids.autoencoder import QuantisedAutoencoder
from sidrec.sids.multi_head_vqvae import MultiHeadVQVAE
from sidrec.sids.rq_vae import RQVAE
from sidrec.sids.vae_tokenizer import QuantisationObjective, VAETokenizer
from sidrec.training.objective import Batch

SMALL = {"codebook_size": 6, "n_codes": 2, "hidden": (16,), "code_width": 4, "pca": None}


def points(n: int = 90) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.normal(size=(9, 5))[np.arange(n) % 9] + 0.05 * rng.normal(size=(n, 5))).astype(np.float32)


def objective_of(vectors: np.ndarray, alpha: float = 0.25) -> QuantisationObjective:
    return QuantisationObjective(vectors, MultiHeadVQVAE(**SMALL, commitment_weight=alpha).settings)


def model_of(residual: bool = False) -> QuantisedAutoencoder:
    torch.manual_seed(0)
    return QuantisedAutoencoder(5, (6, 6), 4, (16,), residual=residual)


def test_the_steps_loss_is_the_papers_formula_per_item() -> None:
    vectors, model = points(), model_of()
    model.start_codebooks(torch.from_numpy(vectors), 0)
    batch = Batch(np.arange(8), slice(0, 8), torch.Generator(), 0, 0)
    (losses,) = objective_of(vectors).parts(model, batch)
    expected = 0.0
    with torch.no_grad():
        for v in torch.from_numpy(vectors[:8]):
            z = model.latents(v[None])[0]
            e = [min(model.books.vectors[m], key=lambda code: float(((z[m] - code) ** 2).sum())) for m in range(2)]
            restored = model.decoder(torch.cat(e)[None])[0]
            expected += float(((v - restored) ** 2).sum())
            expected += sum(1.25 * float(((z[m] - e[m]) ** 2).sum()) for m in range(2))
    assert losses.total.item() == pytest.approx(expected / 8, rel=1e-4)
    assert int(model.books.used.sum()) == 16
    assert losses.terms["used"].item() == pytest.approx(int((model.books.used > 0).sum()) / 12)


def test_shares_of_a_batch_add_up_to_the_whole() -> None:
    vectors, model = points(), model_of()
    model.start_codebooks(torch.from_numpy(vectors), 0)
    task, generator = objective_of(vectors), torch.Generator()
    totals = [
        next(iter(task.parts(model, Batch(np.arange(10), mine, generator, 0, 0)))).total.item()
        for mine in (slice(0, 10), slice(0, 3), slice(3, 10))
    ]
    assert totals[0] == pytest.approx(totals[1] + totals[2], rel=1e-5)


def test_validation_counts_collisions_and_error() -> None:
    vectors, model = points(), model_of()
    with torch.no_grad():
        figures = objective_of(vectors).validate(model.eval())
    assert figures["collision_rate"] == pytest.approx(1 - 1 / 90)  # codebooks of zeros: everything on one ID
    assert figures["score"] == pytest.approx(figures["reconstruction_error"] + figures["collision_rate"])


@pytest.mark.parametrize("residual", [False, True])
def test_dead_codes_come_back_to_life(residual: bool) -> None:
    vectors, model = points(), model_of(residual)
    task = objective_of(vectors)
    with torch.no_grad():
        model.books.vectors += 100.0  # every latent is far from every code
        model.books.vectors[:, 0] = 0.0
    generator, used = torch.Generator().manual_seed(0), []
    for epoch in range(4):  # a level's residuals move when the level before it is mended
        model.books.count(model.quantise(model.latents(torch.from_numpy(vectors))).codes)
        used.append(task.after_epoch(model, epoch, generator)["codes_used"])
    assert used[0] < 0.5 and used[-1] > 0.8


@pytest.mark.parametrize("kind", [MultiHeadVQVAE, RQVAE])
@pytest.mark.slow
def test_training_learns_separate_heaps(kind: type[VAETokenizer]) -> None:
    vectors = points()
    training = {"epochs": 60, "batch_size": 32, "learning_rate": 0.01, "patience": None}
    tokenizer = kind(**SMALL, whiten=False, training=training).fit(vectors)
    heaps = [{tuple(row) for row in tokenizer.encode(vectors[heap::9]).tolist()} for heap in range(9)]
    assert all(not one & other for i, one in enumerate(heaps) for other in heaps[:i])
    restored = tokenizer.reconstruct(tokenizer.encode(vectors))
    assert ((restored - vectors) ** 2).sum() < 0.2 * ((vectors - vectors.mean(0)) ** 2).sum()


def test_a_finished_training_is_taken_up_again(tmp_path: Path) -> None:
    vectors, training = points(), {"epochs": 3, "batch_size": 32}
    first = MultiHeadVQVAE(**SMALL, training=training).fit(vectors, workdir=tmp_path)
    assert any(tmp_path.iterdir())
    again = MultiHeadVQVAE(**SMALL, training=training).fit(vectors, workdir=tmp_path)
    state, restored = first.state(), again.state()
    assert all((state[name] == restored[name]).all() for name in state)


def test_single_training_options_keep_the_other_defaults() -> None:
    training = MultiHeadVQVAE(training={"epochs": 3}).settings.training
    assert (training.epochs, training.metric, training.goal) == (3, "score", "min")

"""DiffuRec: a Transformer reconstructs the next item's vector from the history and a noisy version of it."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sidrec.core.choices import Between, OneOf, Space
from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.data.histories import Histories
from sidrec.models.item_objective import ItemNetwork, ItemObjective, bonus_before
from sidrec.models.item_scorer import AttentionSettings, ItemScorer
from sidrec.models.samples import Samples, right_aligned
from sidrec.nn.gaussian_diffusion import MOST_STEPS, GaussianDiffusion, Schedule, step_features
from sidrec.nn.item_losses import cross_entropy
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures
from sidrec.nn.mlp import mlp
from sidrec.nn.transformer import INITIAL_STD, Transformer


class DiffuRecSettings(AttentionSettings):
    n_steps: int = Field(32, ge=1, le=MOST_STEPS)
    """Steps of the noising chain in training (T)."""
    schedule: Schedule = "truncated-linear"
    """How the noise grows over the chain."""
    inference_steps: int = Field(4, ge=1)
    """Jumps over the chain at inference; each is one pass of the Transformer."""
    eta: float = Field(1.0, ge=0, le=1)
    """Fresh noise at inference: 1 draws from the posterior, 0 is the deterministic path."""
    uncertainty: float = Field(0.01, ge=0)
    """Mean and deviation (delta) of the random weights with which the noisy target is mixed into the history."""
    tuned: ClassVar[Space] = {
        **AttentionSettings.tuned,
        "n_steps": OneOf((16, 32, 64)),
        "uncertainty": Between(0.001, 0.1, log=True),
    }


class DiffuRecNetwork(ItemNetwork):
    """The approximator f(x_s, history, s); -1 is padding."""

    def __init__(self, n_items: int, settings: DiffuRecSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        width = settings.d_model
        self.settings = settings
        self.items, self.repeat = settings.vectors(n_items, features), settings.repeat_term()
        self.positions = nn.Embedding(settings.max_history, width)  # counted from the newest place
        self.items.initialise(INITIAL_STD)
        nn.init.normal_(self.positions.weight, std=INITIAL_STD)
        self.dropout = nn.Dropout(settings.dropout)
        self.step_network = mlp((width, 2 * width, width), "silu")
        self.transformer = Transformer(settings.n_layers, width, settings.n_heads, 2 * width, settings.dropout)
        self.diffusion = GaussianDiffusion(settings.n_steps, settings.schedule)

    def targets(self, items: Tensor) -> Tensor:
        """x_0: item vectors brought to unit variance, like the noise and like the Transformer's output."""
        return F.rms_norm(self.items(items), (self.items.embedding_dim,))

    def clean(self, items: Tensor, noisy: Tensor, step: Tensor, luck: Tensor) -> Tensor:
        """The guess of x_0 from histories (rows, n), x_s (rows, d_model) and standard normal `luck` (…, n, d_model)."""
        n = items.shape[1]
        ages = torch.arange(n - 1, -1, -1, device=items.device)
        weights = self.settings.uncertainty * (1 + luck[..., -n:, :])  # lambda_i ~ N(delta, delta)
        target = noisy + self.step_network(step_features(step, noisy.shape[-1]))
        x = self.items(items.clamp_min(0)) + self.positions(ages) + weights * target.unsqueeze(1)
        real = items >= 0
        visible = None if bool(real.all()) else real[:, None, None, :]
        out: Tensor = self.transformer(self.dropout(x), visible, rows=slice(n - 1, n))
        return out[:, 0]

    def queries(self, histories: Tensor) -> Tensor:
        """The reverse process from noise; all users share it, so a list never depends on who else asked."""
        jumps = self.diffusion.backwards(self.settings.inference_steps)
        width, generator = self.items.embedding_dim, torch.Generator().manual_seed(0)
        noise = torch.randn(len(jumps) + 1, width, generator=generator).to(self.items.device)
        luck = torch.randn(self.settings.max_history, width, generator=generator).to(self.items.device)
        x = noise[0].expand(len(histories), -1)
        for number, jump in enumerate(jumps):
            step = torch.tensor(jump[0], device=x.device)
            mean, deviation = self.diffusion.posterior(x, self.clean(histories, x, step, luck), jump, self.settings.eta)
            x = mean + deviation * noise[number + 1]
        return x


class ReconstructionObjective(ItemObjective[DiffuRecNetwork]):
    """Cross-entropy of the reconstructed target against all items; one target per pass, it is in every place."""

    def __init__(self, samples: Samples, validation: Cases, settings: DiffuRecSettings) -> None:
        super().__init__(samples, validation, settings.max_history)
        self.width, self.n_steps = settings.d_model, settings.n_steps

    def count(self, lengths: NDArray[Any]) -> int:
        return len(lengths)

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return (
            torch.randint(1, self.n_steps + 1, (n_rows,), generator=generator),
            torch.randn(n_rows, self.width, generator=generator),
            torch.randn(n_rows, self.max_history, self.width, generator=generator),
        )

    def loss(self, network: DiffuRecNetwork, samples: Histories, noise: tuple[Tensor, ...]) -> Tensor:
        table = network.item_table()
        items = right_aligned(samples).to(table.device)
        history, target = items[:, :-1], items[:, -1]
        step, gauss, luck = (part.to(table.device) for part in noise)
        noisy = network.diffusion.noised(network.targets(target), step, gauss)
        return cross_entropy(
            network.clean(history, noisy, step, luck), table, target, bonus=bonus_before(network, items)
        )


class DiffuRec(ItemScorer):
    """Li et al."""

    key = "diffurec"
    settings_class: ClassVar[type[Settings]] = DiffuRecSettings
    settings: DiffuRecSettings

    def _build(self, n_items: int, features: ItemFeatures) -> DiffuRecNetwork:
        return DiffuRecNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.every_prefix(data.train_sequences(), self.settings.max_history)
        return ReconstructionObjective(samples, validation, self.settings)

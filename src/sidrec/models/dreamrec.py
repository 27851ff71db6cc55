"""DreamRec: guided Gaussian diffusion generates the vector of the next item; the nearest items are recommended."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from sidrec.core.choices import Between, OneOf, Space
from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.models.item_objective import CausalNetwork, ItemObjective, NextItemObjective, Places
from sidrec.models.item_scorer import AttentionSettings, ItemScorer
from sidrec.models.samples import Samples
from sidrec.nn.gaussian_diffusion import MOST_STEPS, GaussianDiffusion, Schedule, guided, step_features
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures
from sidrec.nn.mlp import mlp
from sidrec.nn.transformer import INITIAL_STD, Transformer


class DreamRecSettings(AttentionSettings):
    d_model: int = Field(256, ge=1)
    n_steps: int = Field(1000, ge=1, le=MOST_STEPS)
    """Steps of the noising chain in training (T)."""
    schedule: Schedule = "linear"
    """How the noise grows over the chain."""
    inference_steps: int = Field(10, ge=1)
    """Jumps over the chain in generation; as many as `n_steps` walk it step by step."""
    eta: float = Field(0.0, ge=0, le=1)
    """Fresh noise in generation: 0 is the deterministic path (DDIM), 1 draws from the posterior (DDPM)."""
    guidance_strength: float = Field(2.0, ge=0)
    """How far generation moves away from the vector without a history (w); 0 is the plain conditional model."""
    condition_dropout: float = Field(0.1, ge=0, le=1)
    """Probability with which training hides the history, so that the unconditional vector is learned too (p)."""
    tuned: ClassVar[Space] = {
        **AttentionSettings.tuned,
        "d_model": OneOf((128, 256, 512)),
        "guidance_strength": Between(0.0, 6.0),
        "condition_dropout": Between(0.05, 0.3),
    }

    @model_validator(mode="after")
    def _learns_no_scores(self) -> Self:
        if self.repeat != "off":
            raise ValueError("dreamrec is trained without scores, so it cannot learn a repeat term; leave repeat off")
        return self


class DreamRecNetwork(CausalNetwork):
    """A causal encoder gives the condition, a small network predicts the clean vector from a noisy one."""

    def __init__(self, n_items: int, settings: DreamRecSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__()
        width = settings.d_model
        self.settings = settings
        self.items = settings.vectors(n_items, features)
        self.positions = nn.Embedding(settings.max_history, width)
        self.nothing = nn.Parameter(torch.randn(width))
        nn.init.normal_(self.positions.weight, std=INITIAL_STD)
        self.dropout = nn.Dropout(settings.dropout)
        self.transformer = Transformer(settings.n_layers, width, settings.n_heads, 2 * width, settings.dropout)
        self.step_network = mlp((width, 2 * width, width), "gelu")
        self.denoiser = mlp((3 * width, 2 * width, width), "gelu")
        self.diffusion = GaussianDiffusion(settings.n_steps, settings.schedule)

    def item_table(self) -> Tensor:
        return self._scaled(self.items.table())

    def vectors(self, items: Tensor) -> Tensor:
        """The rows of the table that are needed."""
        return self._scaled(self.items(items))

    def _scaled(self, vectors: Tensor) -> Tensor:
        """Centred, with unit variance: the scale the noise assumes, at which nearest means largest dot product.

        Without negatives nothing else would keep the learned targets from moving together into one point.
        """
        return F.rms_norm(vectors - self.items.table().mean(0), vectors.shape[-1:])

    def hidden(self, items: Tensor) -> Tensor:
        """The condition at every position."""
        x = self.dropout(self.vectors(items) + self.positions.weight[: items.shape[1]])
        out: Tensor = self.transformer(x, is_causal=True)
        return out

    def clean(self, noisy: Tensor, condition: Tensor, step: Tensor) -> Tensor:
        """The network's guess of x_0."""
        features = self.step_network(step_features(step, noisy.shape[-1])).expand_as(noisy)
        out: Tensor = self.denoiser(torch.cat([noisy, condition, features], dim=-1))
        return out

    def guided_clean(self, noisy: Tensor, condition: Tensor, step: Tensor, strength: float) -> Tensor:
        """The guess with classifier-free guidance; strength 0 asks the conditional network alone."""
        conditional = self.clean(noisy, condition, step)
        if strength == 0:
            return conditional
        return guided(conditional, self.clean(noisy, self.nothing.expand_as(condition), step), strength)

    def queries(self, histories: Tensor) -> Tensor:
        """Generated vectors; all users start from the same noise, so a list never depends on who else asked."""
        condition = self.hidden(histories)[:, -1]
        jumps = self.diffusion.backwards(self.settings.inference_steps)
        draws = torch.randn(len(jumps) + 1, condition.shape[-1], generator=torch.Generator().manual_seed(0))
        noise = draws.to(condition)
        x = noise[0].expand_as(condition)
        for number, jump in enumerate(jumps):
            step = torch.tensor(jump[0], device=x.device)
            guess = self.guided_clean(x, condition, step, self.settings.guidance_strength)
            mean, deviation = self.diffusion.posterior(x, guess, jump, self.settings.eta)
            x = mean + deviation * noise[number + 1]
        return x


class DenoisingObjective(NextItemObjective[DreamRecNetwork]):
    """Squared error of the predicted clean vector at every position; there are no negatives."""

    def __init__(self, samples: Samples, validation: Cases, settings: DreamRecSettings) -> None:
        super().__init__(samples, validation, settings.max_history)
        self.width, self.n_steps, self.dropped = settings.d_model, settings.n_steps, settings.condition_dropout

    def draw(self, n_rows: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        places = (n_rows, self.max_history)
        return (
            torch.randint(1, self.n_steps + 1, places, generator=generator),
            torch.rand(places, generator=generator) < self.dropped,
            torch.randn(*places, self.width, generator=generator),
        )

    def place_loss(self, network: DreamRecNetwork, places: Places) -> Tensor:
        step, dropped, gauss = places.noise
        condition = torch.where(dropped.unsqueeze(-1), network.nothing, places.hidden)
        clean = network.vectors(places.targets)
        guess = network.clean(network.diffusion.noised(clean, step, gauss), condition, step)
        return F.mse_loss(guess, clean, reduction="sum") / self.width


class DreamRec(ItemScorer):
    """Yang et al."""

    key = "dreamrec"
    settings_class: ClassVar[type[Settings]] = DreamRecSettings
    settings: DreamRecSettings

    def _build(self, n_items: int, features: ItemFeatures) -> DreamRecNetwork:
        return DreamRecNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        return DenoisingObjective(samples, validation, self.settings)

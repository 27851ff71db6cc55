"""What both auto-encoder tokenizers share: settings, the training task, encoding and storage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from sidrec.core.progress import Progress
from sidrec.sids.autoencoder import QuantisedAutoencoder, quantisation_loss, reconstruction_loss
from sidrec.sids.base import Codes, State, Tokenizer, TokenizerSettings
from sidrec.sids.id_keys import id_keys
from sidrec.sids.inputs import Floats, TokenizerInputs
from sidrec.sids.quality import relative_error, spread_sample
from sidrec.training.building import at_most
from sidrec.training.loop import train
from sidrec.training.objective import Batch, Losses
from sidrec.training.options import TrainingOptions

_MOST_VALIDATED = 50_000
_MOST_STARTED = 65_536
_MOST_RESTARTED = 8_192


class TokenizerTraining(TrainingOptions):
    """Stops when reconstruction error and collisions together no longer fall."""

    epochs: int = Field(50, ge=1)
    batch_size: int = Field(512, ge=1)
    learning_rate: float = Field(2e-3, gt=0)
    weight_decay: float = Field(1e-4, ge=0)
    warmup: float = Field(0.02, ge=0, le=1)
    metric: Literal["score", "reconstruction_error", "collision_rate"] | None = "score"
    goal: Literal["max", "min"] = "min"
    patience: int | None = Field(5, ge=1)
    min_improvement: float = Field(0.002, ge=0)
    validate_every: int = Field(5, ge=1)


class VAESettings(TokenizerSettings):
    """Settings of the auto-encoder tokenizers."""

    hidden: tuple[int, ...] = (512, 256)
    """Widths between input and latent; the decoder has them in reverse."""
    code_width: int = Field(32, ge=1)
    """Numbers per code vector (d)."""
    commitment_weight: float = Field(0.25, ge=0)
    """Weight that binds the latent to its code (alpha, Eq. vq_loss)."""
    training: TokenizerTraining = TokenizerTraining()


class QuantisationObjective:
    """Reconstruct all items through their codes; the figures that matter are error and collisions together."""

    def __init__(self, inputs: Floats, settings: VAESettings) -> None:
        self.inputs = torch.from_numpy(inputs)
        self.n_samples = len(inputs)
        self.commitment_weight = settings.commitment_weight
        self._validated = spread_sample(len(inputs), _MOST_VALIDATED)

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        model = cast(QuantisedAutoencoder, module)
        inputs = self._on_device(model, self.inputs[torch.from_numpy(batch.rows[batch.mine])])
        passed = model(inputs)
        quantised = passed.quantised
        model.books.count(quantised.codes)
        recon = reconstruction_loss(inputs, passed.restored).sum() / len(batch.rows)
        quant = quantisation_loss(quantised.targets, quantised.chosen, self.commitment_weight).sum() / len(batch.rows)
        # a figure to watch, not a loss; weighted, because the shares of a step are added up
        used = model.books.share_used() * len(inputs) / len(batch.rows)
        yield Losses(recon + quant, {"reconstruction": recon.detach(), "quantisation": quant.detach(), "used": used})

    def validate(self, module: nn.Module) -> dict[str, float]:
        """All items (a sample of large sets): relative error, share of surplus items on shared IDs, and their sum."""
        model = cast(QuantisedAutoencoder, module)
        inputs = self.inputs[torch.from_numpy(self._validated)]
        passed = [model(self._on_device(model, chunk)) for chunk in torch.split(inputs, 8_192)]
        codes = torch.cat([part.quantised.codes for part in passed]).cpu().numpy()
        restored = torch.cat([part.restored for part in passed]).float().cpu().numpy()
        error = relative_error(inputs.numpy(), restored)
        collisions = 1 - len(np.unique(id_keys(codes, model.books.sizes))) / len(codes)
        return {"score": error + collisions, "reconstruction_error": error, "collision_rate": collisions}

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:  # noqa: ARG002
        """Dead codes go to badly served items."""
        model = cast(QuantisedAutoencoder, module)
        rows = torch.randperm(self.n_samples, generator=generator)[:_MOST_RESTARTED]
        quantised = model.quantise(model.latents(self._on_device(model, self.inputs[rows])))
        dead = model.books.restart_dead(quantised.targets, generator)
        return {"codes_used": 1 - dead / sum(model.books.sizes)}

    @staticmethod
    def _on_device(model: QuantisedAutoencoder, inputs: Tensor) -> Tensor:
        return inputs.to(model.books.vectors.device)


class VAETokenizer(Tokenizer):
    """Subclasses say whether codes are parallel or residual."""

    residual: ClassVar[bool]
    settings: VAESettings
    _model: QuantisedAutoencoder

    def _fit(self, inputs: Floats, given: TokenizerInputs, progress: Progress, workdir: Path | None) -> None:
        options = self.settings.training.model_copy(update={"seed": self.settings.seed})
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.settings.seed)
            self._model = self._build(inputs.shape[1])
        started = torch.from_numpy(inputs[spread_sample(len(inputs), _MOST_STARTED)])
        self._model.start_codebooks(started, self.settings.seed)
        train(self._model, self._objective(inputs, given), options, workdir=workdir, progress=progress, name=self.key)
        self._model.cpu().eval()

    def _objective(self, inputs: Floats, given: TokenizerInputs) -> QuantisationObjective:  # noqa: ARG002
        return QuantisationObjective(inputs, self.settings)

    def _build(self, width: int) -> QuantisedAutoencoder:
        settings = self.settings
        return QuantisedAutoencoder(
            width, self.codebook_sizes, settings.code_width, settings.hidden, residual=self.residual
        )

    @torch.no_grad()
    def _encode(self, inputs: Floats) -> Codes:
        latents = self._model.latents(torch.from_numpy(inputs))
        return self._model.quantise(latents).codes.numpy().astype(np.int32)

    @torch.no_grad()
    def _code_distances(self, inputs: Floats, codes: Codes) -> Floats:
        latents, books = self._model.latents(torch.from_numpy(inputs)), self._model.books
        if self.residual:
            return books.residual_distances(latents, torch.from_numpy(codes).long()).numpy()
        return books.distances(latents).numpy()

    @torch.no_grad()
    def _reconstruct(self, codes: Codes) -> Floats:
        chosen = self._model.books.take(torch.from_numpy(codes).long())
        return self._model.decode(self._model.joined(chosen)).numpy()

    def _state(self) -> dict[str, NDArray[np.float32]]:
        return {f"model.{name}": tensor.numpy() for name, tensor in self._model.state_dict().items()}

    def _restore(self, state: State) -> None:
        mine = {name[6:]: torch.from_numpy(array) for name, array in state.items() if name.startswith("model.")}
        with at_most(sum(tensor.numel() for tensor in mine.values())):
            self._model = self._build(mine["encoder.0.weight"].shape[1])
        self._model.load_state_dict(mine)
        self._model.eval()

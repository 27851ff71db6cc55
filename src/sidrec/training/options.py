"""How a model is trained, apart from what it is."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sidrec.core.settings import LENGTH, RATE, RUN, Seed, Settings

_SMALLEST_BATCH = 16


class TrainingOptions(Settings):
    """Options of THE training loop; every model's settings carry one as `training`."""

    epochs: Annotated[int, LENGTH] = Field(default=150, ge=1)
    minutes: Annotated[float | None, RUN] = Field(default=None, gt=0)
    """Stop at the end of the epoch in which this much time is used up (a budget, not a target)."""
    batch_size: int = Field(default=1024, ge=1)
    min_steps: int = Field(default=1, ge=1)
    """Steps that an epoch has at least: few samples are cut into smaller batches, down to 16 samples."""
    accumulate: int = Field(default=1, ge=1)
    """Cut a batch into this many micro-batches whose gradients are added before the optimiser moves."""
    learning_rate: Annotated[float, RATE] = Field(default=1e-3, gt=0)
    weight_decay: float = Field(default=0.05, ge=0)
    betas: tuple[float, float] = (0.9, 0.999)
    schedule: Literal["cosine", "constant"] = "cosine"
    warmup: float = Field(default=0.1, ge=0, le=1)
    """Share of all steps in which the learning rate rises linearly from 0."""
    clip_norm: Annotated[float | None, RATE] = Field(default=1.0, gt=0)
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    """`auto`: bf16 on a GPU that has it, fp32 elsewhere; 16-bit on a CPU without the instructions is refused."""
    device: Annotated[Literal["auto", "cpu", "cuda", "mps"], RUN] = "auto"
    metric: str | None = None
    """Validation figure that selects the best epoch and stops early; None keeps the last epoch."""
    goal: Literal["max", "min"] = "max"
    patience: int | None = Field(default=None, ge=1)
    """Validations without improvement after which training stops; None never stops early."""
    min_improvement: float = Field(default=0.0, ge=0)
    """Relative improvement below which a validation counts as no improvement."""
    validate_every: int = Field(default=1, ge=1)
    """Epochs between validations."""
    checkpoint_seconds: Annotated[float, RUN] = Field(default=60.0, ge=0)
    """A checkpoint is written at most this often (and always at the end of training)."""
    keep_state: Annotated[bool, RUN] = True
    """Keep in a finished model what going on with more epochs or minutes needs: about four times its weights."""
    trackers: Annotated[tuple[Literal["tensorboard", "wandb", "mlflow"], ...], RUN] = ()
    seed: Seed = 0

    def batch_for(self, n_samples: int) -> int:
        """Samples of a step where there are this many in all."""
        return min(self.batch_size, max(_SMALLEST_BATCH, n_samples // self.min_steps))

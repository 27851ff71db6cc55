"""AdamW with its learning rate, clipping and loss scale: everything that turns gradients into a step."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from sidrec.training.options import TrainingOptions
from sidrec.training.precision import Precision

_SMALLEST_SCALE = 2.0**-8


class Optimizer:
    """Fused AdamW over a module's trainable parameters."""

    def __init__(self, module: nn.Module, options: TrainingOptions, planned_steps: int, precision: Precision) -> None:
        self._named = {name: p for name, p in module.named_parameters() if p.requires_grad}
        self._options, self._planned = options, planned_steps
        self._scaler = precision.scaler()
        self.parameters = list(self._named.values())
        self.rate = 0.0
        self.adamw = torch.optim.AdamW(
            _groups(self.parameters, options.weight_decay), lr=options.learning_rate, betas=options.betas, fused=True
        )

    def begin(self, step: int) -> None:
        """Forget the last gradients and take the learning rate of this step, counted from 0 over all epochs."""
        self.rate = learning_rate(self._options, step, self._planned)
        for group in self.adamw.param_groups:
            group["lr"] = self.rate
        self.adamw.zero_grad(set_to_none=True)

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss to back-propagate (fp16 gradients would underflow without a scale)."""
        return self._scaler.scale(loss)

    def move(self) -> float | None:
        """Clip the gradient and step; its norm, or None, without a step, where it is not finite.

        With fp16 a step that overflows is left out and the scale lowered, until that no longer helps.
        """
        if all(parameter.grad is None for parameter in self.parameters):
            return 0.0
        self._scaler.unscale_(self.adamw)
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self._options.clip_norm or math.inf))
        hopeless = not self._scaler.is_enabled() or self._scaler.get_scale() < _SMALLEST_SCALE
        if not math.isfinite(norm) and hopeless:
            return None
        self._scaler.step(self.adamw)
        self._scaler.update()
        return norm if math.isfinite(norm) else 0.0

    def tensors(self) -> dict[str, Tensor]:
        """The moments under the parameters' names."""
        return {f"{name}/{key}": value for name, p in self._named.items() for key, value in self.adamw.state[p].items()}

    def restore(self, tensors: dict[str, Tensor], scale: dict[str, float]) -> None:
        """Put back what `tensors` and `scale` gave."""
        for full, tensor in tensors.items():
            name, _, key = full.rpartition("/")
            self.adamw.state[self._named[name]][key] = tensor.to(self._named[name].device)
        if scale and self._scaler.is_enabled():
            self._scaler.load_state_dict(dict(scale))

    def scale(self) -> dict[str, float]:
        """The loss scale's state; empty unless fp16."""
        return dict(self._scaler.state_dict())


def learning_rate(options: TrainingOptions, step: int, planned: int) -> float:
    """Rate of the step numbered from 0 out of `planned`: a linear rise from 0, then level or half a cosine to 0."""
    rising = math.ceil(options.warmup * planned)
    if step < rising:
        return options.learning_rate * (step + 1) / rising
    if options.schedule == "constant":
        return options.learning_rate
    share = (step - rising) / max(1, planned - rising)
    return options.learning_rate * 0.5 * (1.0 + math.cos(math.pi * share))


def _groups(parameters: list[nn.Parameter], weight_decay: float) -> list[dict[str, object]]:
    """Weight decay acts on matrices only: norm gains and biases have no scale it could usefully bound."""
    decayed = [p for p in parameters if p.ndim >= 2]
    free = [p for p in parameters if p.ndim < 2]
    groups: list[tuple[list[nn.Parameter], float]] = [(decayed, weight_decay), (free, 0.0)]
    return [{"params": members, "weight_decay": decay} for members, decay in groups if members]

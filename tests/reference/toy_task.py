"""A small regression with everything a training can have: dropout, noise, parts, a buffer, work between epochs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from sidrec.training.objective import Batch, Losses
from sidrec.training.options import TrainingOptions

QUICK = {"epochs": 6, "batch_size": 16, "learning_rate": 0.02, "device": "auto"}


class Net(nn.Module):
    drift: Tensor

    def __init__(self, dropout: float = 0.2, seed: int = 0) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.dropout = nn.Dropout(dropout)
        self.outer = nn.Linear(8, 1)
        self.unused = nn.Linear(2, 2)
        self.register_buffer("drift", torch.zeros(1))
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.outer(self.dropout(torch.tanh(self.norm(self.inner(x)))))
        return out.squeeze(-1)


class Task:
    """Learn a linear map from noisy inputs; parts hold one to seven samples each."""

    def __init__(self, n_samples: int = 50, pause: float = 0.0) -> None:
        generator = torch.Generator().manual_seed(9)
        self.n_samples, self.pause = n_samples, pause
        self.x = torch.randn(n_samples, 4, generator=generator)
        self.y = self.x @ torch.randn(4, generator=generator)
        self.visited: list[list[int]] = []

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        time.sleep(self.pause)
        self.visited.append(batch.rows.tolist())
        noise = 0.05 * torch.randn(len(batch.rows), 4, generator=batch.generator)
        rows = torch.from_numpy(batch.rows)[batch.mine]
        x, y = self.x[rows] + noise[batch.mine], self.y[rows]
        for start in range(0, len(rows), 7):
            part = slice(start, start + 7)
            error = (module(x[part]) - y[part]).square().sum() / len(batch.rows)
            size = 0.01 * module(x[part]).square().sum() / len(batch.rows)
            yield Losses(error + size, {"error": error.detach(), "size": size.detach()})

    def validate(self, module: nn.Module) -> dict[str, float]:
        return {"error": float((module(self.x) - self.y).square().mean())}

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:
        assert isinstance(module, Net)
        module.drift += torch.rand(1, generator=generator)
        module.outer.bias += 0.01 * module.drift
        return {"drift": float(module.drift)}


def train_to_be_killed(workdir: Path) -> None:
    """Each step takes a little while, so that a test can kill it anywhere, and is checkpointed."""
    from sidrec.training.loop import train

    train(Net(), Task(pause=0.02), TrainingOptions(**KILLED), workdir=workdir)


def train_together(workdir: Path) -> None:
    """One of several processes: each starts from other weights, only the first one's may count."""
    from safetensors.torch import save_file

    from sidrec.training.distributed import World
    from sidrec.training.loop import train

    rank = World.here().rank
    module = Net(dropout=0.0, seed=rank)
    train(module, Task(), TrainingOptions(**TOGETHER), workdir=workdir)
    save_file(module.state_dict(), workdir / f"rank-{rank}.safetensors")


def train_one_step(workdir: Path) -> None:
    from sidrec.training.distributed import World
    from sidrec.training.loop import train

    train(Net(dropout=0.0, seed=World.here().rank), Task(), TrainingOptions(**ONE_STEP), workdir=workdir)


KILLED = {**QUICK, "epochs": 10, "checkpoint_seconds": 0.0, "metric": "error", "goal": "min"}
TOGETHER = {**QUICK, "epochs": 3, "metric": "error", "goal": "min", "accumulate": 2}
ONE_STEP = {**QUICK, "epochs": 1, "batch_size": 50, "clip_norm": None}
JOBS = {"killed": train_to_be_killed, "together": train_together, "one step": train_one_step}

if __name__ == "__main__":
    torch.set_num_threads(1)
    JOBS[sys.argv[1]](Path(sys.argv[2]))

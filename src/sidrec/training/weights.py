"""What training changes: the parameters that learn and the buffers. A frozen part is named by its hash, not copied."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sidrec.core.errors import ArtifactError

FROZEN = "frozen"


def learned(module: nn.Module) -> dict[str, Tensor]:
    """Trainable parameters and persistent buffers under their names; they share the module's memory."""
    frozen = _frozen(module)
    return {name: tensor for name, tensor in module.state_dict().items() if name not in frozen}


def put_back(module: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give the module what `learned` gave; its frozen part stays as it is."""
    found = module.load_state_dict(tensors, strict=False)
    absent = [name for name in found.missing_keys if name not in _frozen(module)]
    if absent or found.unexpected_keys:
        raise KeyError(f"these weights belong to another network: {[*absent, *found.unexpected_keys][0]}")


def frozen_hash(module: nn.Module) -> str:
    """A hash of the parameters that do not learn; empty where all do."""
    frozen = _frozen(module)
    if not frozen:
        return ""
    digest = hashlib.sha256()
    for name in sorted(frozen):
        tensor = frozen[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_weights(module: nn.Module, file: Path) -> None:
    """What was learned as a safetensors file that names the frozen part, where there is one."""
    frozen = frozen_hash(module)
    save_file(copied(learned(module)), file, metadata={FROZEN: frozen} if frozen else None)


def read_weights(module: nn.Module, file: Path) -> None:
    """Take back what `write_weights` wrote; a module whose frozen part is another one is refused."""
    with safe_open(file, "pt") as stored:
        frozen = (stored.metadata() or {}).get(FROZEN, "")
    if frozen != frozen_hash(module):
        raise ArtifactError(
            f"{file}: was learned on top of a frozen network with other weights; give the one it was trained with."
        )
    put_back(module, load_file(file))


def copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU that share no memory."""
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}


def _frozen(module: nn.Module) -> dict[str, nn.Parameter]:
    every = module.named_parameters(remove_duplicate=False)
    return {name: parameter for name, parameter in every if not parameter.requires_grad}

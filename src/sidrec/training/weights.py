"""What training changes: the parameters that learn and the buffers. A frozen part is named by its hash, not copied."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sidrec.core.checked_files import damaged, reason
from sidrec.core.errors import ArtifactError, SidrecError
from sidrec.training.building import at_most

FROZEN = "frozen"
Network = TypeVar("Network", bound=nn.Module)


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


def restored(build: Callable[[], Network], file: Path) -> Network:
    """The network that `build` makes, with the weights of a file; settings that lie about its size take no memory."""
    shapes, frozen = _header(file)
    try:
        if frozen:  # weights that the file does not hold
            network = build()
        else:
            with at_most(sum(math.prod(shape) for shape in shapes.values())):
                network = build()
    except SidrecError:
        raise
    except Exception as error:  # settings that are lied about may lead to any error
        raise damaged(file, f"holds weights of another network than the settings say ({reason(error)})") from None
    read_weights(network, file)
    return network


def read_weights(module: nn.Module, file: Path) -> None:
    """Take back what `write_weights` wrote; a module whose frozen part is another one is refused."""
    frozen = _check_header(module, file)
    if frozen != frozen_hash(module):
        raise ArtifactError(
            f"{file}: was learned on top of a frozen network with other weights; give the one it was trained with."
        )
    try:
        put_back(module, load_file(file))
    except (KeyError, RuntimeError, ValueError, TypeError, SafetensorError) as error:
        raise damaged(file, f"holds weights that do not fit ({reason(error)})") from None
    bad = next((name for name, tensor in module.named_parameters() if not torch.isfinite(tensor).all()), None)
    if bad is not None:
        raise damaged(file, f"{bad} holds NaN or infinity")


def _check_header(module: nn.Module, file: Path) -> str:
    """Names, shapes and kinds before any tensor is read; gives the hash of the frozen part it was learned on."""
    wanted = {name: list(tensor.shape) for name, tensor in learned(module).items()}
    found, frozen = _header(file)
    odd = next((name for name in {**wanted, **found} if wanted.get(name) != found.get(name)), None)
    if odd is not None:
        raise damaged(file, f"{odd} has the shape {found.get(odd)}, this network needs {wanted.get(odd)}")
    return frozen


def _header(file: Path) -> tuple[dict[str, list[int]], str]:
    """The shapes that a file holds, and what it says of a frozen part."""
    try:
        with safe_open(file, "pt") as stored:
            shapes = {name: stored.get_slice(name).get_shape() for name in stored.keys()}  # noqa: SIM118
            return shapes, str((stored.metadata() or {}).get(FROZEN, ""))
    except Exception as error:  # a parser that is lied to may raise anything
        raise damaged(file, f"is not a readable safetensors file ({reason(error)})") from None


def copied(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU that share no memory."""
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}


def _frozen(module: nn.Module) -> dict[str, nn.Parameter]:
    every = module.named_parameters(remove_duplicate=False)
    return {name: parameter for name, parameter in every if not parameter.requires_grad}

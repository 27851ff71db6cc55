"""Mixed precision where the hardware has it, and a refusal in words where it would crawl."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from sidrec.core.errors import SettingsError

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Precision:
    """The number format of the forward pass; weights and optimiser stay in fp32."""

    name: str
    device: torch.device

    def autocast(self) -> AbstractContextManager[Any]:
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=_DTYPES[self.name])

    def scaler(self) -> torch.amp.GradScaler:
        """fp16 gradients underflow without a scale; the other formats pass through."""
        return torch.amp.GradScaler(self.device.type, enabled=self.name == "fp16")


def choose_precision(wanted: str, device: torch.device) -> Precision:
    """What `wanted` means on this device."""
    if wanted == "auto":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        return Precision("bf16" if fast else "fp32", device)
    if wanted != "fp32" and device.type == "cpu" and not cpu_has(wanted):
        raise SettingsError(
            f"training.precision = {wanted}: this CPU has no {wanted} instructions (AVX512 or AMX) and would be "
            "hundreds of times slower than in fp32; use precision = auto."
        )
    return Precision(wanted, device)


def cpu_has(name: str) -> bool:
    """Whether this CPU multiplies in the 16-bit format itself instead of emulating it."""
    wanted = {"bf16": ("avx512_bf16", "amx_bf16"), "fp16": ("avx512_fp16", "amx_fp16")}[name]
    known: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(bool(known.get(flag)) for flag in wanted)

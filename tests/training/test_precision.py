from __future__ import annotations

import pytest
import torch

from reference.toy_task import QUICK, Net, Task
from sidrec.core.errors import SettingsError
from sidrec.training import precision
from sidrec.training.loop import train
from sidrec.training.options import TrainingOptions
from sidrec.training.precision import choose_precision

CPU = torch.device("cpu")


def cpu_with(monkeypatch, *flags: str) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(flags, True))


@pytest.mark.parametrize("wanted", ["bf16", "fp16"])
def test_sixteen_bits_are_refused_where_the_cpu_would_crawl(monkeypatch, wanted):
    cpu_with(monkeypatch, "avx2")
    with pytest.raises(SettingsError, match=rf"training.precision = {wanted}: this CPU has no .* use precision = auto"):
        train(Net(), Task(), TrainingOptions(**QUICK, precision=wanted))


def test_auto_on_a_cpu_is_fp32_whatever_it_has(monkeypatch):
    cpu_with(monkeypatch, "avx512_bf16", "amx_bf16")
    assert choose_precision("auto", CPU).name == "fp32"


def test_each_format_needs_its_own_instructions(monkeypatch):
    cpu_with(monkeypatch, "amx_bf16")
    assert choose_precision("bf16", CPU).name == "bf16"
    assert not precision.cpu_has("fp16")
    cpu_with(monkeypatch, "avx512_fp16")
    assert precision.cpu_has("fp16")
    assert not precision.cpu_has("bf16")


@pytest.mark.parametrize("wanted", ["bf16", "fp16"])
@pytest.mark.slow
def test_sixteen_bit_training_comes_close_and_resumes(monkeypatch, tmp_path, wanted):
    cpu_with(monkeypatch, "amx_bf16", "amx_fp16")
    full, half = Net(dropout=0.0), Net(dropout=0.0)
    train(full, Task(), TrainingOptions(**QUICK))
    options = TrainingOptions(**QUICK, precision=wanted, checkpoint_seconds=0, minutes=1e-9)
    train(half, Task(), options, workdir=tmp_path)
    result = train(half, Task(), options.model_copy(update={"minutes": None}), workdir=tmp_path)
    assert result.epochs == 6
    assert half.inner.weight.dtype == torch.float32
    difference = (full.inner.weight - half.inner.weight).abs().max().item()
    assert 0 < difference < 0.05

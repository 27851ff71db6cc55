"""On a device, a step of the search neither looks at a value nor copies one; what it computes is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import sidrec.decoding.item_index.index as index_module
import sidrec.decoding.top_k as top_k_module
import sidrec.decoding.user_constraint as constraint_module
from sidrec.data.histories import Histories
from sidrec.decoding.beam import Beams
from sidrec.decoding.diffusion import Stepper, search
from sidrec.decoding.host import may_look, moved
from sidrec.decoding.plan import SearchPlan
from sidrec.decoding.score_items import score_all
from sidrec.decoding.search_space import ItemSearchSpace

LOOKS = {"_local_scalar_dense", "nonzero", "masked_select", "unique_dim", "_unique2", "is_nonzero", "equal"}
"""Operations whose result the host has to wait for."""
HISTORIES = Histories.from_lists([[0, 3, 5], [7], [2, 4]])


class NoLooking(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        kwargs = kwargs or {}
        bools = name in ("index", "index_put", "index_put_") and any(
            given is not None and given.dtype == torch.bool for given in args[1]
        )
        counted = name == "repeat_interleave" and "output_size" not in kwargs
        copied = name in ("_to_copy", "copy_") and kwargs.get("device") is not None
        if name in LOOKS or bools or counted or copied:
            raise AssertionError(f"{func} makes the host wait")
        return func(*args, **kwargs)


@pytest.fixture
def as_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (index_module, top_k_module, constraint_module):
        monkeypatch.setattr(module, "may_look", lambda _: False)


def small() -> ItemSearchSpace:
    """Forty items, some of which share an ID."""
    codes = np.random.default_rng(3).integers(0, np.array([5, 5, 5, 3]), (40, 4)).astype(np.int32)
    codes[1::8] = codes[::8]
    return ItemSearchSpace(codes, (5, 5, 5, 3))


def table_predict(codes: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """Depends on what is filled, and has ties."""
    table = torch.rand(4, 5, generator=torch.Generator().manual_seed(1)).mul(4).round().div(4)
    table = table + (codes.clamp(min=0).sum(-1, keepdim=True).unsqueeze(-1) % 3) / 4
    table = table.masked_fill(torch.arange(5) >= torch.tensor([5, 5, 5, 3])[:, None], -torch.inf)
    every = table.log_softmax(-1)  # (users, beams, 4, 5)
    return every.gather(2, slots.unsqueeze(-1).expand(-1, -1, -1, 5))


@pytest.mark.parametrize("order", ["adaptive", "left-to-right", "right-to-left"])
@pytest.mark.parametrize("n_steps", [1, 2, 3, 4])
@pytest.mark.parametrize("exclude_seen", [False, True])
def test_no_step_makes_the_host_wait(as_on_a_device: None, order: str, n_steps: int, exclude_seen: bool) -> None:
    plan = SearchPlan(n_codes=4, k=5, n_steps=n_steps, beam_size=6, order=order)
    constraint = small().constraint(HISTORIES, None, exclude_seen)
    beams = Beams.start(3, 4)
    stepper = Stepper(table_predict, plan, constraint)
    constraint.index.on(torch.device("cpu"))  # built, and copied to the device, before the first step
    for step in range(n_steps):
        with NoLooking():
            beams = stepper.advance(beams, step)


def test_the_guard_sees_what_it_should() -> None:
    for look in (lambda t: bool(t.any()), lambda t: t.nonzero(), lambda t: t[t > 0], lambda t: t.to("meta")):
        with pytest.raises(AssertionError, match="makes the host wait"), NoLooking():
            look(torch.ones(2))


@pytest.mark.parametrize("table_bytes", [64 << 20, 0])
@pytest.mark.parametrize("exclude_seen", [False, True])
@pytest.mark.parametrize("n_steps", [1, 2, 4])
def test_the_results_are_those_of_the_ways_that_look(
    monkeypatch: pytest.MonkeyPatch, n_steps: int, exclude_seen: bool, table_bytes: int
) -> None:
    """Also where there are no bit tables, so that every depth is asked of the sorted IDs."""
    monkeypatch.setitem(index_module.ItemIndex.__init__.__kwdefaults__, "table_bytes", table_bytes)
    plan = SearchPlan(n_codes=4, k=8, n_steps=n_steps, beam_size=8)
    looking = search(table_predict, 3, plan, small().constraint(HISTORIES, None, exclude_seen))
    scored = score_all(table_predict, 3, 8, small().constraint(HISTORIES, None, exclude_seen))
    for module in (index_module, top_k_module, constraint_module):
        monkeypatch.setattr(module, "may_look", lambda _: False)
    blind = search(table_predict, 3, plan, small().constraint(HISTORIES, None, exclude_seen))
    found = looking.found
    assert torch.equal(blind.scores, looking.scores) and torch.equal(blind.codes[found], looking.codes[found])
    again = score_all(table_predict, 3, 8, small().constraint(HISTORIES, None, exclude_seen))
    assert torch.equal(again.scores, scored.scores) and torch.equal(again.codes, scored.codes)


def test_only_a_cpu_may_be_looked_at_and_tensors_move_together() -> None:
    assert may_look(torch.device("cpu")) and not may_look(torch.device("cuda")) and not may_look(torch.device("meta"))

    class Holder:
        def __init__(self) -> None:
            self.table, self.name = torch.ones(2), "t"

    here = Holder()
    there = moved(here, torch.device("meta"))
    assert there.table.device.type == "meta" and there.name == "t" and here.table.device.type == "cpu"

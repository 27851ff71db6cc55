"""A trained network as ONNX graphs.

Where the history never sees the target there are two: the history pass (items to keys, values and the first step's
log-probabilities) and the step (codes, keys and values to log-probabilities). Elsewhere there is one, from the items
of the history and the codes of the target to the target's log-probabilities. Users, beams and history lengths are free,
and so is the catalogue: what the network knows of each item is an input, so that new items need no new graphs.
"""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.func import functional_call

from sidrec.core.artifacts import Origin, ensure, opened, write
from sidrec.core.errors import ArtifactError
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.replacing import always
from sidrec.models.llada_rec.engines import HISTORY, STEP, WHOLE, ExportedNetwork, needed, open_graph
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.nn.transformer import KeysValues
from sidrec.sids.item_tokens import MASKED

KIND = "graphs"
WEIGHTS = "weights"


class HistoryPass(nn.Module):
    """Items (users, length) -> first log-probabilities, keys and values (layers, users, heads, length, d)."""

    def __init__(self, network: MaskPredictor) -> None:
        super().__init__()
        self.network = network

    def forward(self, items: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept, first = self.network.cache_history(items)
        return first, torch.stack([layer.keys for layer in kept]), torch.stack([layer.values for layer in kept])


class StepPass(nn.Module):
    """Codes (users, beams, n_codes), -1 where masked, keys and values -> log-probabilities."""

    def __init__(self, network: MaskPredictor) -> None:
        super().__init__()
        self.network = network

    def forward(self, codes: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        kept = [KeysValues(*layer) for layer in zip(keys.unbind(0), values.unbind(0), strict=True)]
        return self.network.cached_log_probs(codes, kept, keys.shape[-2] // self.network.n_codes)


class WholePass(nn.Module):
    """Histories' items (rows, length) and targets' codes (rows, n_codes) -> the targets' log-probabilities."""

    def __init__(self, network: MaskPredictor) -> None:
        super().__init__()
        self.network = network

    def forward(self, items: Tensor, codes: Tensor) -> Tensor:
        return self.network.target_log_probs(items, codes)


class OnTables(nn.Module):
    """A pass that reads the catalogue's tables from further inputs instead of the network's own buffers."""

    def __init__(self, inner: HistoryPass | WholePass) -> None:
        super().__init__()
        self.inner, self.names = inner, [f"network.{name}" for name in inner.network.item_tables()]

    def forward(self, *inputs: Tensor) -> Any:
        n_own = len(inputs) - len(self.names)
        tables = dict(zip(self.names, inputs[n_own:], strict=True))
        return functional_call(self.inner, tables, inputs[:n_own])


@dataclass(frozen=True)
class GraphPlan:
    """One graph: what is traced, with which example, and which axes (by input) are free."""

    module: nn.Module
    example: tuple[Tensor, ...]
    inputs: Mapping[str, tuple[int, ...]]
    outputs: list[str]


def export(network: MaskPredictor, out: Path, progress: Progress | None = None) -> Path:
    """Write the network's graphs as an artefact; already written ones of the same weights are kept."""
    progress = progress or SilentProgress()
    origin = Origin(KIND, settings={"attention": network.attention}, made_from={WEIGHTS: weights_of(network)})

    def make() -> Path:
        for package in ("onnx", "onnxscript"):
            needed(package, "the export")
        plans = _plans(network)
        with write(out, origin, gives_way=always) as directory, progress.task("exporting", total=len(plans)) as task:
            for name, plan in plans.items():
                _write_graph(plan, directory / name)
                task.advance()
        return out

    return ensure(out, origin, make, lambda _: out, progress, gives_way=always)


def run_by(
    engine: str, network: MaskPredictor, graphs: Path | None = None, progress: Progress | None = None
) -> ExportedNetwork:
    """The network run by another engine, from graphs that are kept in `graphs`, or made for now."""
    if graphs is not None:
        return load_graphs(engine, network, graphs if graphs.exists() else export(network, graphs, progress))
    with tempfile.TemporaryDirectory() as folder:
        return load_graphs(engine, network, export(network, Path(folder) / KIND, progress))


def load_graphs(engine: str, network: MaskPredictor, path: Path) -> ExportedNetwork:
    """Exported graphs; those of other weights are refused."""
    files = (HISTORY, STEP) if network.history_is_fixed else (WHOLE,)
    with opened(path, KIND) as artifact:
        if artifact.made_from.get(WEIGHTS) != weights_of(network):
            raise ArtifactError(f"{path}: these are the graphs of another model; run `sidrec export` on this one.")
        return ExportedNetwork(network, {name: open_graph(engine, artifact.file(name), path / name) for name in files})


def weights_of(network: MaskPredictor) -> str:
    """A fingerprint of everything that decides the graphs."""
    structure = {
        "inputs": ["items", *network.item_tables()],
        "attention": network.attention,
        "temperature": network.temperature,
        "codebook_sizes": network.codebook_sizes,
        "shared_head": network.shared_head,
        "n_heads": network.transformer.layers()[0].n_heads,
        "positions": network.positions.kind,
    }
    digest = hashlib.sha256(json.dumps(structure, sort_keys=True).encode())
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _plans(network: MaskPredictor) -> dict[str, GraphPlan]:
    """Examples have two of everything free: with one, the exporter would take it for fixed."""
    n_items = min(2, network.positions.max_history)
    items = torch.zeros(2, n_items, dtype=torch.long)
    tables = network.item_tables()
    free: dict[str, tuple[int, ...]] = {"items": (0, 1)}
    free_tables = {name.replace(".", "_"): (0,) for name in tables}
    if not network.history_is_fixed:
        example, free = (items, torch.full((2, network.n_codes), MASKED), *tables.values()), free | {"codes": (0,)}
        return {WHOLE: GraphPlan(OnTables(WholePass(network)), example, free | free_tables, ["log_probs"])}
    inner = HistoryPass(network)
    with torch.no_grad():
        _, keys, values = inner(items)
    codes = torch.full((2, 3, network.n_codes), MASKED)
    free_step = {"codes": (0, 1), "keys": (1, 3), "values": (1, 3)}
    outputs = ["first", "keys", "values"]
    return {
        HISTORY: GraphPlan(OnTables(inner), (items, *tables.values()), free | free_tables, outputs),
        STEP: GraphPlan(StepPass(network), (codes, keys, values), free_step, ["log_probs"]),
    }


def _write_graph(plan: GraphPlan, file: Path) -> None:
    shapes = tuple(dict.fromkeys(axes, Dim.AUTO) for axes in plan.inputs.values())
    # a module that takes any number of inputs takes them as one
    given = (shapes,) if isinstance(plan.module, OnTables) else shapes
    with _quietly(), torch.no_grad():
        torch.onnx.export(
            plan.module.eval(),
            plan.example,
            str(file),
            dynamo=True,
            input_names=list(plan.inputs),
            output_names=plan.outputs,
            dynamic_shapes=given,
            external_data=False,
            verbose=False,
        )


@contextmanager
def _quietly() -> Iterator[None]:
    """The exporter warns of its own old calls and of a missing torchvision, which nobody here needs."""
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\)", category=FutureWarning)
            yield
    finally:
        log.setLevel(level)

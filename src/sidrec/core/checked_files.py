"""JSON and tensors of an artefact, read with suspicion: kinds, shapes and sizes before anything is believed.

A right hash says that nobody changed a file since it was written, not that we wrote it. Whatever is wrong becomes one
`ArtifactError` that names the file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from sidrec.core.errors import ArtifactError
from sidrec.core.memory import too_large
from sidrec.core.plain_text import one_line

Value = TypeVar("Value")
_JSON_IN_MEMORY = 10
"""How much larger than its text a JSON value can be in memory."""


def damaged(file: Path, what: str) -> ArtifactError:
    """The one sentence about a file that cannot be used."""
    return ArtifactError(f"{file}: {one_line(what)}; make the artefact again.")


def read_json(file: Path, kind: type[Value]) -> Value:
    """The JSON value, which must be of `kind`: `dict[str, Any]`, a dataclass, ..."""
    data = _bytes(file, _JSON_IN_MEMORY)
    return _checked(file, lambda adapter: adapter.validate_json(data, strict=True), kind)


def read_json_lines(file: Path, kind: type[Value]) -> list[Value]:
    """One value per line."""
    lines = [line for line in _bytes(file, _JSON_IN_MEMORY).splitlines() if line.strip()]
    return [
        _checked(file, lambda adapter, line=line: adapter.validate_json(line, strict=True), kind)  # type: ignore[misc]
        for line in lines
    ]


def read_tensors(file: Path) -> dict[str, NDArray[Any]]:
    """Every tensor of a safetensors file; their shapes are for the caller to check."""
    from safetensors.numpy import load_file

    _refuse_large(file, _size(file))
    try:
        return load_file(file)
    except Exception as error:  # a parser that is lied to may raise anything
        raise damaged(file, f"is not a readable safetensors file ({reason(error)})") from None


def _checked(file: Path, read: Callable[[TypeAdapter[Value]], Value], kind: type[Value]) -> Value:
    adapter: TypeAdapter[Value] = _adapter(kind)  # type: ignore[arg-type]
    try:
        return read(adapter)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join(str(part) for part in problem["loc"])
        said = problem["msg"][:1].lower() + problem["msg"][1:]
        raise damaged(file, f"{at}: {said}" if at else said) from None


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _bytes(file: Path, times: int) -> bytes:
    _refuse_large(file, _size(file) * times)
    try:
        return file.read_bytes()
    except OSError as error:
        raise damaged(file, reason(error)) from None


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as error:
        raise damaged(file, reason(error)) from None


def _refuse_large(file: Path, n_bytes: int) -> None:
    why = too_large(n_bytes)
    if why is not None:
        raise ArtifactError(f"{file}: {why}.")


def reason(error: BaseException) -> str:
    """The first line of what a library says."""
    if isinstance(error, FileNotFoundError):
        return "missing"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    said = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
    return said.rstrip(".")[:200]

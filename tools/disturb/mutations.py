"""Artefacts that lie: one random change of one file, with hashes that say that all is well."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

MANIFEST = "manifest.json"
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 10**6, 10**9, 2**31, 2**63, 10**30, 0.5, -0.0, math.nan, math.inf, 1e308),
    *("", "x", "../../x", "[/red]", "\x1b[31m", "\ud800", "9" * 5000),
    *([], [None], [[]], {}, {"x": 1}, ["a", "a"], [1, "a"], [10**9, 10**9]),
)


def mutated(artefact: Path, out: Path, seed: int) -> str:
    """A sealed copy with one change."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(artefact, out)
    return mutate(out, Random(seed), sealed=True)


def mutate(folder: Path, draw: Random, *, sealed: bool) -> str:
    """Change something in the artefact; what was changed, in words."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix not in _ONLY_SHOWN)
    file = draw.choice(files)
    way = _any_bytes if draw.random() < 0.15 else _WAYS.get(file.suffix, _any_bytes)
    try:
        words = way(file, draw)
    except Exception as error:  # a change that makes no sense here
        words = f"{_any_bytes(file, draw)} instead of {type(error).__name__}"
    if sealed:
        reseal(folder, file)
    return f"{file.relative_to(folder)}: {words}"


def reseal(folder: Path, changed: Path | None = None) -> None:
    """Right sizes and hashes in every manifest but the changed one; those inside others come first."""
    for manifest in sorted(folder.rglob(MANIFEST), key=lambda file: -len(file.parts)):
        if manifest == changed:
            continue
        values = json.loads(manifest.read_text(encoding="utf-8"))
        for name in list(values["files"]):
            file = manifest.parent / name
            if file.is_file():
                data = file.read_bytes()
                values["files"][name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        _write(manifest, json.dumps(values).encode())


def _write(file: Path, data: bytes) -> None:
    """As a new file: the old one may be shared with other trials."""
    file.unlink()
    file.write_bytes(data)


def _any_bytes(file: Path, draw: Random) -> str:
    data, way = bytearray(file.read_bytes()), draw.randrange(7)
    if way == 0:
        data = bytearray()
    elif way == 1:
        del data[draw.randrange(len(data) or 1) :]
    elif way == 2:
        data += bytes(draw.randrange(256) for _ in range(draw.randint(1, 64)))
    elif way == 3:
        data[:8] = bytes([0xFF] * 8)
    elif way == 4:
        data = bytearray(b"[" * 100_000)
    else:
        for _ in range(draw.choice([1, 1, 4, 64])):
            data[draw.randrange(len(data))] = draw.randrange(256)
    _write(file, bytes(data))
    return f"bytes, way {way}"


def _json(file: Path, draw: Random) -> str:
    values = json.loads(file.read_text(encoding="utf-8"))
    words = _change_value(values, draw)
    _write(file, json.dumps(values).encode("utf-8", "surrogatepass"))
    return words


def _json_lines(file: Path, draw: Random) -> str:
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    words = _change_value(lines, draw)
    _write(file, "\n".join(json.dumps(line) for line in lines).encode())
    return words


def _change_value(values: Any, draw: Random) -> str:
    """Somewhere in nested lists and objects: another value, a key less, a key more."""
    places = list(_places(values, ""))
    owner, key, path = draw.choice(places)
    way = draw.randrange(5)
    if way == 0:
        del owner[key]
        return f"{path} deleted"
    if way == 1 and isinstance(owner, dict):
        owner[draw.choice(["new", "", "format", "x" * 300])] = draw.choice(_ODD)
        return f"a key beside {path}"
    owner[key] = odd = draw.choice(_ODD)
    return f"{path} = {odd!r:.60}"


def _places(values: Any, path: str) -> Any:
    pairs = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in list(pairs):
        yield values, key, f"{path}/{key}"
        yield from _places(value, f"{path}/{key}")


def _parquet(file: Path, draw: Random) -> str:
    import polars as pl

    frame = pl.read_parquet(file)
    name = draw.choice(frame.columns)
    row = pl.int_range(pl.len()) == draw.randrange(max(1, frame.height))
    kind = draw.choice([pl.String, pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Boolean, pl.Binary, pl.Categorical])
    ways: dict[str, Callable[[], pl.DataFrame]] = {
        "dropped": lambda: frame.drop(name),
        "renamed": lambda: frame.rename({name: draw.choice(["item_id", "x", "", "user_id"])}),
        f"as {kind}": lambda: frame.with_columns(pl.col(name).cast(kind, strict=False)),
        "a null": lambda: frame.with_columns(pl.when(row).then(None).otherwise(pl.col(name)).alias(name)),
        "all null": lambda: frame.with_columns(pl.lit(None).alias(name)),
        "as lists": lambda: frame.with_columns(pl.col(name).cast(pl.String).reshape((-1, 1)).arr.to_list().alias(name)),
        "one value": lambda: frame.with_columns(
            pl.lit(draw.choice(["x", -1, 2**40, -(2**62), 1.5, math.nan])).alias(name)
        ),
        "first value": lambda: frame.with_columns(pl.col(name).first()),
        "twice": lambda: pl.concat([frame, frame.head(draw.randint(1, 3))]),
        "shorter": lambda: frame.head(draw.randrange(frame.height or 1)),
        "empty": lambda: frame.clear(),
        "shuffled": lambda: frame.sample(fraction=1.0, shuffle=True, seed=draw.randrange(99)),
        "plus one": lambda: frame.with_columns(pl.col(name) + 1),
        "negative": lambda: frame.with_columns(-pl.col(name)),
    }
    way = draw.choice(list(ways))
    changed = ways[way]()
    file.unlink()
    changed.write_parquet(file)
    return f"{name} {way}"


def _tensors(file: Path, draw: Random) -> str:
    import numpy as np
    from safetensors.numpy import load_file, save_file

    tensors = load_file(file)
    name = draw.choice(list(tensors))
    tensor = tensors[name]
    ways: dict[str, Callable[[], Any]] = {
        "flat": lambda: tensor.reshape(-1),
        "a row less": lambda: tensor[:-1],
        "a row more": lambda: np.concatenate([tensor, tensor[:1]]),
        "turned": lambda: np.ascontiguousarray(tensor.T),
        "one number": lambda: np.asarray(1, tensor.dtype),
        "empty": lambda: tensor[:0],
        "nan": lambda: np.full_like(tensor, np.nan),
        "huge": lambda: np.full_like(tensor, 3e38 if tensor.dtype.kind == "f" else 2**30),
        "negative": lambda: -np.abs(tensor) - 1,
        "another dtype": lambda: tensor.astype(draw.choice(["float64", "float16", "int64", "int8", "bool"])),
        "another axis": lambda: tensor[None],
    }
    way = draw.choice([*ways, "gone", "renamed", "one more", "shape that lies"])
    if way in ways:
        tensors[name] = np.ascontiguousarray(ways[way]())
    elif way == "one more":
        tensors["x"] = tensor
    elif way != "shape that lies":
        del tensors[name]
        tensors |= {"x": tensor} if way == "renamed" else {}
    file_bytes = file.read_bytes()
    file.unlink()
    if way == "shape that lies":
        file.write_bytes(_lying_shape(file_bytes, name, draw))
    else:
        save_file(tensors, file)
    return f"{name} {way}"


def _lying_shape(data: bytes, name: str, draw: Random) -> bytes:
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])
    head[name]["shape"] = draw.choice([[10**9, 10**6], [-1], [2**62], [0], [3, 5, 7]])
    if draw.random() < 0.5:
        head[name]["data_offsets"] = draw.choice([[0, 10**12], [-4, 0], [8, 4]])
    text = json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _matrix(file: Path, draw: Random) -> str:
    import numpy as np

    matrix = np.load(file)
    ways: dict[str, Callable[[], Any]] = {
        "a row less": lambda: matrix[:-1],
        "turned": lambda: matrix.T,
        "a row": lambda: matrix[0],
        "float64": lambda: matrix.astype(np.float64),
        "no column": lambda: matrix[:, :0],
        "nan": lambda: np.full_like(matrix, np.nan),
        "objects": lambda: matrix.astype(object),
    }
    way = draw.choice(list(ways))
    changed = ways[way]()
    file.unlink()
    np.save(file, changed)
    return way


_ONLY_SHOWN = (".html", ".svg", ".md", ".csv", ".log")
"""Nobody reads them back."""
_WAYS: dict[str, Callable[[Path, Random], str]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".parquet": _parquet,
    ".safetensors": _tensors,
    ".npy": _matrix,
}

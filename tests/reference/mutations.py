"""Files changed by somebody who means harm and can count: every change is sealed again with right sizes and hashes."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import numpy as np
import polars as pl
from safetensors.numpy import load_file, save_file

from sidrec.core.storage import sha256_of

VALUES = [None, True, -1, 0, 1.5, 2**63, 10**30, "", "x", "../..", [], [1], {}, {"a": 1}, [[["deep"]]]]


def mutated(artifact: Path, out: Path, seed: int) -> tuple[Path, str]:
    """A copy with one change in one file, and what was changed."""
    draw = random.Random(seed)
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(artifact, out)
    file = draw.choice(sorted(path for path in out.rglob("*") if path.is_file()))
    change = draw.choice(_CHANGES.get(file.suffix, [_bytes]) if draw.random() < 0.75 else [_bytes, _cut, _empty])
    change(file, draw)
    if file.name != "manifest.json":
        seal(out)
    return out, f"{file.relative_to(out)}: {change.__name__}"


def seal(directory: Path) -> None:
    """Right sizes and hashes for whatever is there."""
    manifest = json.loads((directory / "manifest.json").read_text())
    for name, facts in manifest["files"].items():
        facts |= {"bytes": (directory / name).stat().st_size, "sha256": sha256_of(directory / name)}
    (directory / "manifest.json").write_text(json.dumps(manifest))


def _bytes(file: Path, draw: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(draw.randint(1, 4)):
        if data:
            data[draw.randrange(len(data))] = draw.randrange(256)
    file.write_bytes(bytes(data))


def _cut(file: Path, draw: random.Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: draw.randrange(len(data) + 1)])


def _empty(file: Path, draw: random.Random) -> None:
    file.write_bytes(b"")


def _json_value(file: Path, draw: random.Random) -> None:
    """One value somewhere inside becomes another."""
    value = json.loads(file.read_text() or "{}")
    at = value
    while isinstance(at, dict | list) and at:
        key = draw.choice(sorted(at)) if isinstance(at, dict) else draw.randrange(len(at))
        if not isinstance(at[key], dict | list) or not at[key] or draw.random() < 0.3:
            at[key] = draw.choice(VALUES)
            break
        at = at[key]
    file.write_text(json.dumps(value))


def _json_whole(file: Path, draw: random.Random) -> None:
    file.write_text(draw.choice([json.dumps(value) for value in VALUES] + ["[" * 100_000, "{", "\x00"]))


def _json_without(file: Path, draw: random.Random) -> None:
    value = json.loads(file.read_text() or "{}")
    if isinstance(value, dict) and value:
        del value[draw.choice(sorted(value))]
    file.write_text(json.dumps(value))


def _table(file: Path, draw: random.Random) -> None:
    """A column dropped, retyped, repeated, emptied, shuffled away, or made too long."""
    frame = pl.read_parquet(file, glob=False)
    name = draw.choice(frame.columns)
    column = frame[name]
    changes = [
        lambda: frame.drop(name),
        lambda: frame.with_columns(pl.lit(None).alias(name)),
        lambda: frame.with_columns(pl.lit("x").alias(name)),
        lambda: frame.with_columns(pl.lit(draw.choice([-1, 2**31, 2**40, 2**62])).alias(name)),
        lambda: frame.with_columns(pl.lit(float("nan")).alias(name)),
        lambda: frame.with_columns(pl.Series(name, [[1, 2]] * frame.height)),
        lambda: frame.with_columns(column.shift(1).alias(name)),
        lambda: frame.head(frame.height // 2),
        lambda: frame.clear(),
        lambda: pl.concat([frame, frame]),
    ]
    draw.choice(changes)().write_parquet(file)


def _tensors(file: Path, draw: random.Random) -> None:
    tensors = load_file(file)
    name = draw.choice(sorted(tensors))
    tensor = tensors[name]
    changes = [
        lambda: tensors.pop(name),
        lambda: tensors.update({name: tensor.astype(np.float64)}),
        lambda: tensors.update({name: tensor.astype(np.int32)}),
        lambda: tensors.update({name: tensor.reshape(-1)}),
        lambda: tensors.update({name: np.zeros((0, 3), np.float32)}),
        lambda: tensors.update({name: np.concatenate([tensor, tensor])}),
        lambda: tensors.update({name: np.full_like(tensor, np.nan)}),
        lambda: tensors.update({"more": tensor.copy()}),
    ]
    draw.choice(changes)()
    save_file({key: np.ascontiguousarray(value) for key, value in tensors.items()}, file)


def _matrix(file: Path, draw: random.Random) -> None:
    matrix = np.load(file)
    np.save(file, draw.choice([matrix[:-1], matrix.T, matrix[0], matrix.astype(np.float64), matrix[:, :0]]))


_CHANGES = {
    ".json": [_json_value, _json_value, _json_whole, _json_without],
    ".parquet": [_table],
    ".safetensors": [_tensors],
    ".npy": [_matrix],
}

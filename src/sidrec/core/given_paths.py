"""Paths that somebody gives: a string, a path object or a URI, or one sentence about what it was instead."""

from __future__ import annotations

import os
from pathlib import Path

from sidrec.core.errors import InputError
from sidrec.core.mirroring import local


def as_path(value: object, what: str) -> Path:
    """`what` is the argument that should have been a path, and what stands there."""
    if isinstance(value, str | os.PathLike):
        return local(value)
    kind = "None" if value is None else f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__}"
    raise InputError(f"{what}: {kind} where a path is meant; give the directory or file it lies in.")

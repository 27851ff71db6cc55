"""Nothing is replaced by something else: what stands at an output gives way to its own kind and origin only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from sidrec.core.errors import ArtifactError, StorageError
from sidrec.core.manifest import MANIFEST, Origin, parse
from sidrec.core.places import mirrored
from sidrec.core.reading import Artifact

GivesWay = Callable[[Artifact], bool]
"""Whether an artefact of the same kind is an earlier state of what is to be written."""
_wanted: ContextVar[bool] = ContextVar("replacing", default=False)
_SHORT = {"sids": "semantic IDs"}


@contextmanager
def replacing(wanted: bool = True) -> Iterator[None]:
    """Inside the block outputs may be replaced by something else; the old one goes when the new one is whole."""
    token = _wanted.set(wanted or _wanted.get())
    try:
        yield
    finally:
        _wanted.reset(token)


def may_replace() -> bool:
    """Whether somebody said so."""
    return _wanted.get()


def refuse_other(path: Path, origin: Origin, gives_way: GivesWay | None = None) -> None:
    """Refuse to write where an artefact of another kind or origin stands; a damaged one may be made again."""
    path = mirrored(path)
    if may_replace() or not (path / MANIFEST).is_file():
        return
    try:
        manifest = parse((path / MANIFEST).read_bytes(), path / MANIFEST)
    except (ArtifactError, OSError):
        return
    if manifest["kind"] != origin.kind:
        words = f"holds {_named(manifest['kind'])}, and {_named(origin.kind)} is to be written"
    elif manifest["fingerprint"] == origin.fingerprint or (gives_way or _never)(Artifact(path, manifest)):
        return
    else:
        words = f"holds {_another(origin.kind)}, made from other data or with other settings"
    raise occupied(path, words)


def occupied(path: Path, words: str) -> StorageError:
    """The refusal: what is there, and the two ways out."""
    return StorageError(
        f"{path}: {words}; nothing was touched. Choose another place, or say that it shall be replaced.",
        arguments=("out", "replace"),
    )


def _never(_: Artifact) -> bool:
    return False


def always(_: Artifact) -> bool:
    """For what only shows something else, and is made anew whenever that has changed."""
    return True


def _another(kind: str) -> str:
    word = _SHORT.get(kind, kind)
    return f"other {word}" if word.endswith("s") else f"another {word}"


def _named(kind: str) -> str:
    word = _SHORT.get(kind, kind)
    return word if word.endswith("s") else f"an {word}" if word[0] in "aeiou" else f"a {word}"

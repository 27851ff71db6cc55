"""Where things lie: a path, or a URI that stands for a path below the mirror, where what lies there is kept.

`s3://bucket/runs/model` is `MIRROR/s3/bucket/runs/model` on this machine, so that siblings stay siblings and everything
that works on a directory works on a URI. Whoever reads there brings the mirror up to date first (`mirroring`), whoever
writes there publishes what he wrote (`publishing`), and words about the mirror are said with the URI.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

CACHE_VARIABLE = "SIDREC_CACHE"
REMOTE = ("s3", "gs")
_URI = re.compile(r"(?P<scheme>[a-z][a-z0-9+.]+):/{1,3}(?P<rest>.*)", re.DOTALL)
"""One slash is enough: a URI that went through `Path` has lost the other."""


def mirror() -> Path:
    """The folder whose paths stand for URIs."""
    given = os.environ.get(CACHE_VARIABLE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "sidrec"
    return _resolved(str(given)) / "remote"


@cache
def _resolved(folder: str) -> Path:
    return Path(folder).expanduser().resolve()


def is_uri(value: object) -> bool:
    """Whether this names something by URI, in a scheme that we read."""
    found = _URI.fullmatch(str(value)) if isinstance(value, str | os.PathLike) else None
    return found is not None and found["scheme"] in (*REMOTE, "file")


def mirrored(value: str | os.PathLike[str]) -> Path:
    """The path that a URI stands for; any other path as it is."""
    found = _URI.fullmatch(os.fspath(value))
    if found is None or found["scheme"] not in (*REMOTE, "file"):
        return Path(value)
    if found["scheme"] == "file":
        return Path("/" + found["rest"].lstrip("/"))
    parts = found["rest"].strip("/").split("/")
    if not all(_is_plain(part) for part in parts):
        _refuse(f"{found['scheme']}://{found['rest']}")
    return mirror().joinpath(found["scheme"], *parts)


def uri_of(path: Path) -> str | None:
    """The URI that a path stands for; None for a path that is just a path, also of unfinished work in the mirror."""
    inside = Path(os.path.normpath(path.absolute()))
    if not inside.is_relative_to(mirror()):
        return None
    scheme, *parts = inside.relative_to(mirror()).parts or ("",)
    return f"{scheme}://{'/'.join(parts)}" if scheme in REMOTE and parts and all(map(_is_plain, parts)) else None


def everywhere(value: str | os.PathLike[str]) -> str:
    """How another machine names this: by its URI, else by its whole path, which must lead to the same storage there."""
    path = mirrored(value)
    return uri_of(path) or str(path.resolve())


def with_uris(text: str) -> str:
    """What is said about the mirror, said about what it mirrors."""
    for scheme in REMOTE:
        text = text.replace(f"{mirror()}/{scheme}/", f"{scheme}://")
    return text


def _is_plain(part: str) -> bool:
    return part != "" and part[0] != "." and not re.search(r"[?#\x00-\x1f]", part)


def _refuse(uri: str) -> None:
    from sidrec.core.errors import InputError

    words = "is no address that is read here: BUCKET/NAME/NAME, without `?`, `#` and names that begin with a dot"
    raise InputError(f"{uri}: {words}; another server is named by AWS_ENDPOINT_URL.")

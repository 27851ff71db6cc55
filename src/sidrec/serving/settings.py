"""How a service runs: what it serves, where, and how much it takes on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from sidrec.core.errors import SettingsError
from sidrec.core.places import is_uri, mirrored
from sidrec.core.settings import Settings

TOKEN_VARIABLE = "SIDREC_TOKEN"
"""Where the bearer token of the admin routes stands; never an option, which others on the machine could see."""


class ServeSettings(Settings):
    models: dict[str, Path] = Field(min_length=1)
    """Directories of saved models by the name they are asked for; the first is the default."""
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=64)
    """Processes; each has the models in its own memory."""
    torch_threads: int | None = Field(None, ge=1)
    """Threads of one computation in one worker; None shares the machine's cores among the workers."""
    max_batch: int = Field(32, ge=1, le=1024)
    """Requests that are computed together at most; 1 turns micro-batching off."""
    max_wait_ms: float = Field(1.0, ge=0, le=1000)
    """How long a request waits for others to be computed with."""
    batches_at_once: int = Field(2, ge=1, le=64)
    """Batches that one worker computes side by side, so that one with a new filter does not hold up the others."""
    queue_size: int = Field(256, ge=100)
    """Requests that wait in one worker; more are refused with 503."""
    deadline_s: float = Field(10.0, gt=0, le=600)
    """A request that is not answered by then is refused with 503."""
    store: str | None = None
    """Where users' interactions are kept: sqlite:///path or postgresql://user@host/name; None: nowhere."""
    sample_users: int | None = Field(None, ge=0, le=1000)
    """Histories of the training data that are shown, without user ids; None: some to this machine, none to others."""
    access_log: bool = False
    """A line on standard error for every request."""

    @property
    def shown_users(self) -> int:
        if self.sample_users is not None:
            return self.sample_users
        return 24 if self.host in ("127.0.0.1", "localhost", "::1") else 0

    @property
    def threads(self) -> int:
        return self.torch_threads or max(1, (os.cpu_count() or 1) // self.workers)


def named_models(words: Sequence[str]) -> dict[str, Path]:
    """`runs/model` is served by its folder's name, `best=runs/model` by the name before the sign; so are URIs."""
    named: dict[str, Path] = {}
    for word in words:
        name, sign, path = word.partition("=")
        if not sign or is_uri(word) or Path(word).exists():
            name, path = mirrored(word).resolve().name, word
        if name in named or not name:
            raise SettingsError(f"{word}: another model is called {name!r}; name them: first=DIR second=DIR.")
        named[name] = mirrored(path)
    return named

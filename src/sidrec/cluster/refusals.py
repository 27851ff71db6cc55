"""What a user can cause, on its way from a worker to where the command was given."""

from __future__ import annotations

import json

from sidrec.core import errors
from sidrec.core.errors import SidrecError


def told(error: SidrecError) -> str:
    """The error as text."""
    return json.dumps({"kind": type(error).__name__, "words": str(error), "arguments": error.arguments})


def again(text: str) -> SidrecError:
    """The error that was told, as if it had happened here."""
    found = json.loads(text)
    kind = getattr(errors, found["kind"], SidrecError)
    error: SidrecError = kind(found["words"], arguments=tuple(found["arguments"]))
    return error

"""The models. `sidrec.models()` lists them: the room and the listing share a name, so the module can be called."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Models(ModuleType):
    def __call__(self) -> Any:
        from sidrec.models.registry import models

        return models()


sys.modules[__name__].__class__ = _Models

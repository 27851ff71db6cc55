"""The models that are served: loaded whole, never changed, and replaced in one step."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.core.artifacts import opened
from sidrec.core.checked_files import read_json
from sidrec.core.locks import locked
from sidrec.core.storage import temporary
from sidrec.models.base import Recommender
from sidrec.models.registry import model_from
from sidrec.models.stock import Stock
from sidrec.serving.problems import ProblemError
from sidrec.serving.schemas import SampleUsers
from sidrec.serving.title_search import TitleSearch


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """One version of a model. A request keeps the one it began with."""

    name: str
    path: Path
    model: Recommender
    version: str
    loaded_at: str = field(default_factory=lambda: datetime.now().astimezone().isoformat(timespec="seconds"))

    samples: dict[int, SampleUsers] = field(default_factory=dict)
    """Users to try it with, by their number; they go with it."""

    @property
    def stock(self) -> Stock:
        return self.model.stock

    @property
    def codes(self) -> NDArray[np.int32] | None:
        """(n_items, n_codes); None for models that do not know items by codes."""
        return None if self.stock.ids is None else self.stock.ids.codes

    @cached_property
    def titles(self) -> TitleSearch:
        return TitleSearch.of(self.stock.catalog.titles, self.stock.counts)

    def item(self, item_id: str) -> int:
        """The index of an item; an unknown one is a problem."""
        found = int(self.stock.catalog.index_of([item_id])[0])
        if found < 0:
            raise ProblemError(404, f"no item has the id {item_id!r}.")
        return found


def load(name: str, path: Path) -> LoadedModel:
    """Read, verified, and tried: a model that cannot answer is refused here, in words."""
    with opened(path, "model") as artifact:
        model, version = model_from(artifact), artifact.content[:12]
    loaded = LoadedModel(name, path, model, version)
    model.recommend([[model.catalog.item_ids[0]]], k=1)
    loaded.titles  # noqa: B018 - made before anybody waits for it
    loaded.stock.catalog.masks.prepare()
    return loaded


class ModelStore:
    """By name; the first is the default. Workers that share a directory tell each other what they serve there."""

    def __init__(self, paths: Mapping[str, Path], shared: Path | None = None) -> None:
        self._paths, self._shared = dict(paths), shared
        self._loaded: dict[str, LoadedModel] = {}
        self._changing = threading.Lock()

    def load_all(self) -> None:
        for name in self._paths:
            self._take(load(name, self._paths[name]))

    def all(self) -> list[LoadedModel]:
        return [self._loaded[name] for name in self._paths if name in self._loaded]

    @property
    def ready(self) -> bool:
        return len(self._loaded) == len(self._paths)

    def get(self, name: str | None) -> LoadedModel:
        wanted = next(iter(self._paths)) if name is None else name
        if wanted not in self._loaded:
            raise ProblemError(404, f"no model is called {wanted!r}; there are: {', '.join(self._loaded)}.")
        return self._loaded[wanted]

    def reload(self, *names: str) -> list[LoadedModel]:
        """What stands on the disk now, loaded beside those that serve; where one cannot be, all of these stay."""
        with self._changing:
            found = [load(name, self._paths[name]) for name in names]
            return [self._take(one) for one in found]

    def change(self, name: str, change: Callable[[Recommender], None]) -> LoadedModel:
        """Change a copy, write it where the model came from, serve it: all of that, or nothing has happened."""
        path = self._paths[name]
        with self._changing, locked(path):
            model = load(name, path).model
            change(model)
            model.save(path)
            return self._take(load(name, path))

    def follow(self) -> list[LoadedModel]:
        """Load what another worker has begun to serve; it was tried there, so that it is whole."""
        behind = [name for name in self._loaded if self._heard(name) not in (None, self._loaded[name].version)]
        return self.reload(*behind)

    def _take(self, found: LoadedModel) -> LoadedModel:
        self._loaded[found.name] = found
        if self._shared is not None and self._heard(found.name) != found.version:
            told = temporary(self._news(found.name))
            told.write_text(json.dumps({"version": found.version}), encoding="utf-8")
            told.replace(self._news(found.name))
        return found

    def _heard(self, name: str) -> str | None:
        if self._shared is None or not self._news(name).is_file():
            return None
        return str(read_json(self._news(name), dict[str, Any])["version"])

    def _news(self, name: str) -> Path:
        assert self._shared is not None
        return self._shared / f"serves-{list(self._paths).index(name)}.json"

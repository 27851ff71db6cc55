"""What is searched for: the settings of one model, from a recipe on, for one data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidrec.core.artifacts import write_json
from sidrec.core.checked_files import read_json
from sidrec.core.choices import Choice, as_space, plain_space
from sidrec.core.errors import SettingsError, StorageError
from sidrec.core.progress import Progress
from sidrec.core.settings import merge, parse_assignments
from sidrec.core.settings_table import changed_settings
from sidrec.data.dataset import Dataset
from sidrec.models.registry import find_model
from sidrec.pipeline.recipes import Recipe, said_at, within

METRIC = "ndcg@10"
"""What a trial is judged by: on the validation part, whole, and epoch after epoch on a sample of its users."""
FILE = "search.json"


@dataclass(frozen=True)
class Search:
    """A model's key, the settings that all trials have in common, and what is tried beside them."""

    key: str
    base: dict[str, Any]
    space: dict[str, Choice]
    data: str
    """Fingerprint of the data set."""
    seed: int = 0

    def first(self) -> dict[str, Any]:
        """The first trial is the recipe as it is."""
        plain = find_model(self.key).settings(self.base, where="recipe").model_dump(mode="json")
        return {name: _at(plain, name) for name in self.space}

    def recipe(self, chosen: Mapping[str, Any]) -> Recipe:
        """The recipe of a trial."""
        values = self.base
        for name, value in chosen.items():
            values = merge(values, within(name.split("."), value))
        return Recipe(self.key, values, "recipe")

    def plain(self) -> dict[str, Any]:
        found = {"model": self.key, "metric": METRIC, "data": self.data, "seed": self.seed}
        return {**found, "base": self.base, "space": plain_space(self.space)}

    def agree_with(self, out: Path) -> None:
        """Write down what is searched in `out`; another search there is refused."""
        file = out / FILE
        if not file.is_file():
            write_json(file, self.plain())
            return
        there = read_json(file, dict[str, Any])
        other = [name for name, value in self.plain().items() if there.get(name) != value]
        if other:
            words = f"holds a search with another {other[0]}; its trials and these would not compare."
            raise StorageError(f"{out}: {words} Choose another place.", arguments=("out",))


def search_of(recipe: Recipe, data: Dataset, vary: Sequence[str], seed: int, progress: Progress) -> Search:
    """The recipe's model with what it leaves open settled for this data, over its own space or over `vary`."""
    model = recipe.build()
    model.settle(data, progress)
    space: Mapping[str, Choice] = as_space(parse_assignments(vary)) or model.settings_class.tuned
    if not space:
        raise SettingsError(f"{recipe.key} has nothing to tune; choose a model that is trained.", arguments=("model",))
    plain = model.settings.model_dump(mode="json")
    unknown = [name for name in space if _at(plain, name, MISSING) is MISSING]
    if unknown:
        words = f"{unknown[0]} is not a setting of {recipe.key}; see `sidrec models {recipe.key}`."
        raise SettingsError(words, arguments=("vary",))
    base = _without_null(_values_at(changed_settings(model.settings), plain))
    return Search(
        recipe.key, base, {name: one.including(_at(plain, name)) for name, one in space.items()}, data.fingerprint, seed
    )


class _Missing:
    """A setting that is not there."""


MISSING = _Missing()


def _at(plain: Mapping[str, Any], name: str, default: Any = None) -> Any:
    *sections, last = name.split(".")
    return said_at(plain, sections).get(last, default)


def _values_at(names: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of what was changed."""
    return {
        name: _values_at(inner, plain[name])
        if isinstance(inner, Mapping) and isinstance(plain[name], Mapping)
        else plain[name]
        for name, inner in names.items()
    }


def _without_null(values: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe has no word for nothing."""
    return {
        name: _without_null(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if value is not None
    }

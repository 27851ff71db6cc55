"""Recipes: which model with which settings, as a TOML file and `--set` options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidrec.core.errors import SettingsError
from sidrec.core.mirroring import local
from sidrec.core.settings import merge, parse_assignments, read_toml
from sidrec.models.base import Recommender
from sidrec.models.registry import find_model, load_model

SECTION = "model"
AUTO = "auto"
DEFAULT_MODEL = "llada-rec-plus"
"""What is trained where nobody names a model."""
_BUNDLED = (Path(__file__).resolve().parents[1] / "recipes", Path(__file__).resolve().parents[3] / "recipes")


@dataclass(frozen=True)
class Recipe:
    """A model's key, its settings as plain values, and where they were read."""

    key: str
    values: dict[str, Any]
    where: str
    named: bool = True
    """False where nobody named a recipe, only a model and perhaps some settings."""

    def build(self) -> Recommender:
        """The model, not fitted; wrong settings are reported all at once, with the recipe's name."""
        model = find_model(self.key).build(self.values, where=self.where, section=SECTION)
        model.fits_size = self.values.get("preset", None if self.named else AUTO) == AUTO
        return model


@dataclass(frozen=True)
class Successor:
    """A recipe that goes on from a saved model: its key and settings, with changes."""

    path: Path
    changes: dict[str, Any]

    def build(self) -> Recommender:
        """The model, not fitted; its training begins with the weights of the saved one."""
        return load_model(self.path).successor(**self.changes)


def read_successor(path: Path, recipe: str | None, model: str | None, assignments: Sequence[str]) -> Successor:
    """The saved model at `path` with `--set` values laid over its settings."""
    if recipe is not None or model is not None:
        words = "says which model it is, with which settings; leave them out and set what shall be otherwise."
        raise SettingsError(f"{path}: {words}", arguments=("recipe", "model"))
    return Successor(Path(path), _within_model(parse_assignments(assignments)))


def read_recipe(name: str | None, model: str | None = None, assignments: Sequence[str] = ()) -> Recipe:
    """The recipe of this name or path (None: the model's defaults), with `--set` values laid over it.

    Without a recipe and a model it is the model we would choose.
    """
    where = "settings" if name is None else str(name)
    sections = {} if name is None else read_toml(find_recipe(name))
    unknown = [key for key in sections if key != SECTION]
    if unknown:
        raise SettingsError(f"{where}: [{unknown[0]}] is not a section of a recipe; it has one section, [{SECTION}].")
    values = merge(dict(sections.get(SECTION, {})), _within_model(parse_assignments(assignments)))
    key = values.pop("key", None)
    if model and key and model != key:
        words = f"is a recipe of {key}, but {model} is asked for; leave one of them out."
        raise SettingsError(f"{where}: {words}", arguments=("recipe", "model"))
    if name is None and not (model or key):
        key = DEFAULT_MODEL
    if not (model or key):
        words = f"no model is named; give its key, or a recipe with key = ... in [{SECTION}]."
        raise SettingsError(f"{where}: {words}", arguments=("model", "recipe"))
    key = str(model or key)
    if name is None:
        return Recipe(key, values, where, named=False)
    return Recipe(key, _with_neighbours(key, values, find_recipe(name).parent), where)


_VECTORS = (("embedding",), ("tokenize", "collaborative"))
"""Where settings say which vectors are taken."""


def vectors_named(values: Mapping[str, Any]) -> dict[tuple[str, ...], Mapping[str, Any]]:
    """The places where these settings take the item vectors of a model, and what they say there."""
    found = {place: said_at(values, place) for place in _VECTORS}
    return {place: said for place, said in found.items() if said.get("from_model") is not None}


def said_at(values: Mapping[str, Any], place: Sequence[str]) -> Mapping[str, Any]:
    """What settings say in a section of a section; nothing where they have no such."""
    for name in place:
        inner = values.get(name)
        values = inner if isinstance(inner, Mapping) else {}
    return values


def within(place: Sequence[str], value: Any) -> dict[str, Any]:
    """A value as the settings that hold it there."""
    for name in reversed(place):
        value = {name: value}
    return dict(value)


def _with_neighbours(key: str, values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A model that is trained first, for its item vectors, is trained as the recipe beside this one says."""
    for place, said in vectors_named(merge(find_model(key).defaults, values)).items():
        file = folder / f"{said['from_model']}.toml"
        if file.is_file():
            plain = {name: value for name, value in read_toml(file).get(SECTION, {}).items() if name != "key"}
            values = merge(values, within([*place, "model_settings"], merge(plain, said.get("model_settings", {}))))
    return values


def _within_model(values: dict[str, Any]) -> dict[str, Any]:
    """`--set model.d_model=8` and `--set d_model=8` mean the same."""
    inside = values.pop(SECTION, {})
    return merge(values, inside if isinstance(inside, dict) else {SECTION: inside})


def find_recipe(name: str) -> Path:
    """A path, or the name of a bundled recipe such as `demo/llada-rec`."""
    given = local(name)
    if given.suffix == ".toml" and given.is_file():
        return given
    for folder in recipe_folders():
        found = folder / (name if name.endswith(".toml") else f"{name}.toml")
        if found.is_file():
            return found
    known = ", ".join(bundled_recipes()) or "none"
    raise SettingsError(f"{name}: no such recipe file; bundled recipes: {known}.")


def recipe_folders() -> tuple[Path, ...]:
    """Where recipes and plans are looked for by name."""
    return (Path("recipes"), *_BUNDLED)


def bundled_recipes() -> list[str]:
    """Names that `--recipe` takes."""
    names = {
        file.relative_to(folder).with_suffix("").as_posix()
        for folder in _BUNDLED
        for file in folder.glob("*/*.toml")
        if file.parent.name != "experiments"
    }
    return sorted(names)

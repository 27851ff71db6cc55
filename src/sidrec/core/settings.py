"""Settings at the door: frozen, no unknown keys, every problem at once, with a hint for a misspelt key.

A setting that does not decide which model comes out says so beside its definition:
`minutes: Annotated[float | None, RUN] = None`.
"""

from __future__ import annotations

import difflib
import reprlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sidrec.core.choices import Space
from sidrec.core.errors import SettingsError

Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""What every generator of random numbers takes."""


@dataclass(frozen=True)
class Mark:
    """A word about a setting, put beside its type with `Annotated`; it holds for the setting in subclasses too."""

    word: str


RUN = Mark("run")
"""Of the run (device, minutes, trackers): where, when and how often, never which model comes out."""
SEARCH = Mark("search")
"""Of the asking: how a finished model is searched."""
LENGTH = Mark("length")
"""How far training goes: a part of the method, but a shorter run of the same method can be gone on with."""


RATE = Mark("rate")
"""How fast training goes: a part of the method, but a cut-off training may be resumed with less of it."""


def marked(cls: type[Settings], mark: Mark) -> set[str]:
    """The names of the settings of which this is said."""
    return {name for name in cls.model_fields if mark in _marks(cls, name)}


class Settings(BaseModel):
    """Base of every settings class: immutable, strict about names, documented beside what it sets."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    tuned: ClassVar[Space] = {}
    """What `tune` tries; nothing where nothing is learned."""
    before: ClassVar[Mapping[str, Any]] = {}
    """What was so before there was a setting for it; whatever was saved without the setting has this value."""

    @classmethod
    def parse(cls, values: Mapping[str, Any], *, owner: str, where: str = "settings", section: str = "") -> Self:
        """Build from plain values; `owner` is whose settings these are, `where` the recipe or command behind them."""
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            raise SettingsError(describe_problems(cls, error, owner=owner, where=where, section=section)) from None

    def method_values(self, *without: Mark) -> dict[str, Any]:
        """Plain values of what decides which model comes out: no settings of the run, of the search, or `without`."""
        plain, kept = self.model_dump(mode="json"), {}
        for name in type(self).model_fields:
            if _marks(type(self), name).isdisjoint({RUN, SEARCH, *without}):
                value = getattr(self, name)
                kept[name] = value.method_values(*without) if isinstance(value, Settings) else plain[name]
        return kept

    @model_validator(mode="before")
    @classmethod
    def _sections_keep_their_defaults(cls, values: Any) -> Any:
        """Naming one setting of a section leaves the section's others at the defaults that its owner chose."""
        if not isinstance(values, Mapping):
            return values
        defaults = {name: field.get_default(call_default_factory=True) for name, field in cls.model_fields.items()}
        return {name: _over(defaults.get(name), value) for name, value in values.items()}


def _marks(cls: type[Settings], name: str) -> set[Mark]:
    """What is said of a setting by any class that defines it."""
    owners = [base for base in cls.__mro__ if issubclass(base, Settings) and name in base.model_fields]
    return {mark for base in owners for mark in base.model_fields[name].metadata if isinstance(mark, Mark)}


def _over(default: Any, given: Any) -> Any:
    """Named values of a section laid over what its default says explicitly; anything else as given."""
    if isinstance(default, Mapping) and isinstance(given, Mapping):
        return merge(default, given)
    if not (isinstance(default, Settings) and isinstance(given, Mapping)):
        return given
    chosen = {name: getattr(default, name) for name in default.model_fields_set}
    return {**chosen, **{name: _over(chosen.get(name), value) for name, value in given.items()}}


def describe_problems(
    cls: type[BaseModel], error: ValidationError, *, owner: str, where: str, section: str = ""
) -> str:
    """Every problem of a validation as one line each."""
    lines = []
    for problem in error.errors():
        path = [str(part) for part in problem["loc"]]
        name = ".".join([section, *path] if section else path)
        if problem["type"] == "extra_forbidden":
            lines.append(f"{where}: {name} is not a setting of {owner}{_hint(cls, path)}")
        elif problem["type"] == "missing":
            lines.append(f"{where}: {name} is needed by {owner} and not given")
        elif not path:  # several settings that do not go together: the reason names them
            lines.append(f"{where}: {_plain(problem['msg'])}")
        else:
            lines.append(f"{where}: {name}: {_plain(problem['msg'])} (got {reprlib.repr(problem.get('input'))})")
    return "\n".join(lines)


def _plain(message: str) -> str:
    message = message.removeprefix("Value error, ").removeprefix("Input ")
    return message[:1].lower() + message[1:]


def _hint(cls: type[BaseModel], path: list[str]) -> str:
    """The setting of this name in a section, or the nearest name at the level of the unknown key."""
    level: Any = cls
    for part in path[:-1]:
        field = level.model_fields.get(part) if isinstance(level, type) and issubclass(level, BaseModel) else None
        level = field.annotation if field else None
    if not (isinstance(level, type) and issubclass(level, BaseModel)):
        return ""
    inner = [name for name in _inner_names(level) if name.rpartition(".")[2] == path[-1]]
    near = inner[:1] or difflib.get_close_matches(path[-1], list(level.model_fields), n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; it has: {', '.join(level.model_fields)}"


def _inner_names(level: type[BaseModel]) -> Iterator[str]:
    """`training.epochs`: every setting of every section below, outer ones first."""
    sections = [
        (name, kind)
        for name, field in level.model_fields.items()
        for kind in (field.annotation, *get_args(field.annotation))
        if isinstance(kind, type) and issubclass(kind, BaseModel)
    ]
    for name, kind in sections:
        yield from (f"{name}.{inner}" for inner in kind.model_fields)
    for name, kind in sections:
        yield from (f"{name}.{inner}" for inner in _inner_names(kind))


def read_toml(path: Path) -> dict[str, Any]:
    """A recipe or plan file as plain values."""
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such file; recipes are TOML files, see the recipes/ folder.") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}.") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not valid UTF-8 text, so it is not a TOML file.") from None


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """`a.b=v` options as nested values; the value is read as TOML (bare words as strings), never evaluated."""
    merged: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            words = "write a setting as name=value, for example model.d_model=128."
            raise SettingsError(f"{text}: {words}", arguments=("set",))
        try:
            parsed = tomllib.loads(f"{key.strip()} = {value.strip()}")
        except tomllib.TOMLDecodeError:
            try:
                parsed = tomllib.loads(f"{key.strip()} = {_quoted(value.strip())}")
            except tomllib.TOMLDecodeError as error:
                raise SettingsError(f"{text}: cannot be read as TOML: {error}.", arguments=("set",)) from None
        merged = merge(merged, parsed)
    return merged


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`, section by section."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result

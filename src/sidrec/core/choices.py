"""What may be tried of a setting when the best one is searched for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeGuard

from sidrec.core.errors import SettingsError


@dataclass(frozen=True)
class OneOf:
    """Some values."""

    values: tuple[bool | int | float | str, ...]

    def ends(self) -> tuple[Any, ...]:
        return self.values

    def holds(self, value: Any) -> bool:
        return value in self.values

    def including(self, value: Any) -> OneOf:
        return self if value in self.values or value is None else OneOf((*self.values, value))


@dataclass(frozen=True)
class Between:
    """Any number from `low` to `high`, whole ones where both are; `log` tries orders of magnitude alike."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def ends(self) -> tuple[Any, ...]:
        return self.low, self.high

    def holds(self, value: Any) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high

    def including(self, value: Any) -> Between:
        if not isinstance(value, int | float) or (self.log and value <= 0):
            return self
        return replace(self, low=min(self.low, value), high=max(self.high, value))


Choice = OneOf | Between
Space = Mapping[str, Choice]
"""What is tried of each setting, by its dotted name."""


def as_space(values: Mapping[str, Any]) -> dict[str, Choice]:
    """`{"d_model": [32, 64], "training": {"learning_rate": {"low": 1e-4, "high": 1e-2, "log": true}}}` as a space."""
    return dict(_choices(values, ""))


def plain_space(space: Space) -> dict[str, Any]:
    """The same as plain values, by dotted names."""
    return {name: list(one.values) if isinstance(one, OneOf) else asdict(one) for name, one in space.items()}


def _choices(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Choice]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and "low" not in value:
            yield from _choices(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _choice(f"{prefix}{name}", value)


def _choice(name: str, value: Any) -> Choice:
    if isinstance(value, list) and value and all(isinstance(one, bool | int | float | str) for one in value):
        return OneOf(tuple(value))
    if isinstance(value, Mapping):
        low, high, log = value.get("low"), value.get("high"), value.get("log", False)
        known = set(value) <= {"low", "high", "log"} and isinstance(log, bool)
        if known and _number(low) and _number(high) and low < high and not (log and low <= 0):
            return Between(low, high, log)
    raise SettingsError(
        f"{name}: say what is tried as {name}=[32,64,128], or {name}={{low=0.001,high=0.1,log=true}}.",
        arguments=("vary",),
    )


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)

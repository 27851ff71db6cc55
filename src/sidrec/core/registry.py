"""A table of names: rows we ship, rows another package offers by entry point, rows registered while running."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Generic, Protocol, TypeVar

from sidrec.core.errors import SettingsError


class Row(Protocol):
    """What every row has; `place` is the module and name of its class."""

    @property
    def key(self) -> str: ...

    @property
    def place(self) -> tuple[str, str]: ...


AnyRow = TypeVar("AnyRow", bound=Row)


@dataclass
class Registry(Generic[AnyRow]):
    """`what` a row is, the entry points' `group`, the `shipped` rows, and how a class becomes a row."""

    what: str
    group: str
    shipped: Callable[[], Sequence[AnyRow]]
    row_of: Callable[[str, Any], AnyRow]
    added: dict[str, AnyRow] = field(default_factory=dict)
    _offered: dict[str, AnyRow | None] = field(default_factory=dict)

    def rows(self) -> tuple[AnyRow, ...]:
        """All rows; ours come first."""
        known = {row.key: row for row in (*self.shipped(), *self.added.values())}
        others = [self._load(entry) for entry in metadata.entry_points(group=self.group) if entry.name not in known]
        return (*known.values(), *(row for row in others if row is not None))

    def find(self, key: str) -> AnyRow:
        """The row of a key; an unknown key is an error with the nearest name."""
        for row in (*self.shipped(), *self.added.values()):
            if row.key == key:
                return row
        for entry in metadata.entry_points(group=self.group, name=key):
            if (found := self._load(entry)) is not None:
                return found
        names = [row.key for row in self.rows()]
        near = difflib.get_close_matches(str(key), names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known {self.what}s: {', '.join(names)}."
        raise SettingsError(f"{key!r} is not a {self.what}; {hint}")

    def add(self, row: AnyRow) -> None:
        """A row from now on; the same class may be registered again, as a notebook does."""
        taken = next((old for old in (*self.shipped(), *self.added.values()) if old.key == row.key), None)
        if taken is not None and (taken.key not in self.added or taken.place != row.place):
            raise SettingsError(f"the key {row.key!r} is taken by {'.'.join(taken.place)}; choose another key.")
        self.added[row.key] = row

    def _load(self, entry: metadata.EntryPoint) -> AnyRow | None:
        """Another package's row, looked up once; one that cannot be loaded is a warning, not our end."""
        if entry.name not in self._offered:
            try:
                self._offered[entry.name] = self.row_of(entry.name, entry.load())
            except Exception as error:  # whatever another package may raise
                package = entry.dist.name if entry.dist is not None else entry.value
                warnings.warn(
                    f"the {self.what} {entry.name!r} of the package {package} cannot be loaded "
                    f"({type(error).__name__}: {error}); it is left out.",
                    stacklevel=2,
                )
                self._offered[entry.name] = None
        return self._offered[entry.name]


def first_line(kind: type) -> str:
    """What a class says of itself."""
    return (kind.__doc__ or kind.__name__).strip().split("\n")[0].rstrip(".")

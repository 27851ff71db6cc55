"""The error tree: what a user can cause, in words a user can act on.

SidrecError
├── InputError      a file, row or value that cannot be used
├── SettingsError   a setting, recipe or option that does not exist or does not fit
├── ArtifactError   a directory we wrote (or should have written) that is missing, damaged or of another kind
├── TrainingError   training that cannot go on
└── StorageError    the disk refused a write
"""

from __future__ import annotations

from sidrec.core.places import with_uris


class SidrecError(Exception):
    """Base of every error a user can cause; the message names the cause and the next step. Exit code 2.

    `arguments` are those a caller would change; the command line adds its own names for them.
    """

    def __init__(self, message: str = "", *, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(with_uris(message))
        self.arguments = arguments


class InputError(SidrecError):
    """Data that cannot be used: names file, row and column where they are known."""


class SettingsError(SidrecError):
    """One or more settings are wrong; all problems are reported at once."""


class ArtifactError(SidrecError):
    """A saved directory is missing, damaged, or not what the command needs."""


class TrainingError(SidrecError):
    """Training cannot go on; the last good checkpoint is kept."""


class StorageError(SidrecError):
    """The disk refused a write; nothing half-written is left under the final name."""

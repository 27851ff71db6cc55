"""How an artefact lies in an object store: its files under `versions/ID`, and a manifest that names that version.

Stores cannot rename a folder, but they replace one object in one step: the files of a version are put under a prefix
that nobody reads yet, and the manifest, put last, makes them the artefact. A directory that was copied there by other
means has no versions; its files lie beside the manifest.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from sidrec.core.errors import ArtifactError
from sidrec.core.manifest import MANIFEST, is_inside, parse
from sidrec.core.places import mirrored
from sidrec.core.remote_files import RemoteFiles

STORED, VERSIONS = "stored", "versions"
_MOST_MANIFEST = 64 << 20


@dataclass(frozen=True)
class StoredVersion:
    """What a manifest in the store says."""

    manifest: dict[str, Any]
    """As it stands in the directory, without words about the store."""
    id: str | None
    """None where the files lie beside the manifest."""
    files: dict[str, int]
    """Every file and its size, those of artefacts inside included; empty without an id."""

    @classmethod
    def at(cls, place: RemoteFiles) -> StoredVersion | None:
        """The one that is valid now; what no writer of ours can have written is damage."""
        text = place.below(MANIFEST).read(_MOST_MANIFEST)
        if text is None:
            return None
        parse(text, mirrored(place.uri) / MANIFEST)
        manifest: dict[str, Any] = json.loads(text)
        stored = manifest.pop(STORED, None)
        if stored is None:
            return cls(manifest, None, {})
        try:
            files = {str(name): int(size) for name, size in stored["files"].items()}
            if not re.fullmatch(r"[0-9a-f]{8,64}", stored["version"]) or not all(map(is_inside, files)):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ArtifactError(f"{place.uri}: damaged manifest; make the artefact again.") from None
        return cls(manifest, stored["version"], files)

    def place(self, at: RemoteFiles) -> RemoteFiles:
        """Where its files lie."""
        return at if self.id is None else at.below(VERSIONS).below(self.id)

    def text(self) -> bytes:
        """The manifest to put last."""
        stored = {"version": self.id, "files": self.files}
        return json.dumps({**self.manifest, STORED: stored}, indent=2, ensure_ascii=False).encode()

"""Finished parts of a batch job, in its work directory."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sidrec.core.artifacts import Origin
from sidrec.pipeline.recommendation_files import new_file, write_parquet, write_table

MARK = b"sidrec"
"""Key of the file's own note about what it was made from."""


@dataclass(frozen=True)
class Parts:
    """Each is named after its first row; a part on disk is a whole part."""

    folder: Path
    output: Path

    @property
    def files(self) -> Iterator[Path]:
        """In the order of their rows, up to the first gap."""
        begin = 0
        while (file := self._file(begin)).is_file():
            yield file
            begin += pq.read_metadata(file).num_rows

    @property
    def n_finished(self) -> int:
        return sum(pq.read_metadata(file).num_rows for file in self.files)

    def missing(self, n_rows: int, size: int) -> Iterator[tuple[int, int]]:
        """(first row, how many) of what is still to be made: parts may have been finished in any order."""
        begin = self.n_finished
        while begin < n_rows:
            rows = min(size, n_rows - begin)
            file = self._file(begin)
            if not file.is_file() or pq.read_metadata(file).num_rows != rows:
                yield begin, rows
            begin += rows

    def put(self, begin: int, content: bytes) -> None:
        """A part as `packed` made it, perhaps on another machine."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with new_file(self._file(begin)) as sink:
            sink.write(content)

    def assemble(self, origin: Origin) -> None:
        """One file out of all parts, a part in memory at a time."""
        mark = {"fingerprint": origin.fingerprint, "made_from": origin.made_from, "settings": origin.settings}
        files = list(self.files)
        schema = pq.read_schema(files[0]).with_metadata({MARK: json.dumps(mark, default=str).encode()})
        write_parquet(self.output, (pq.read_table(file) for file in files), schema)

    def _file(self, begin: int) -> Path:
        return self.folder / f"{begin}.parquet"


def packed(table: pa.Table) -> bytes:
    """A part as the bytes of its file."""
    sink = io.BytesIO()
    write_table(sink, [table], table.schema)
    return sink.getvalue()

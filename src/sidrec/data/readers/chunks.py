"""Text files in pieces, cut at line ends, checked for NUL bytes and UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sidrec.core.errors import InputError
from sidrec.data.readers.unpack import PACKED, blocks

BLOCK = 1 << 22
_LONGEST = 1 << 26
"""Bytes of the longest line."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Chunk:
    """Whole lines, and the number of the first one."""

    data: bytes
    first_line: int


def plain_suffix(path: Path) -> str:
    """The suffix that tells the format: `.csv` of `reviews.csv.gz`."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() in PACKED else path.suffix.lower()


def chunks(path: Path, *, quoted: bool = False, block: int = BLOCK) -> Iterator[Chunk]:
    """The lines of a file; with `quoted` no cut falls inside a quoted field."""
    carry = _Carry(quoted)
    line = 1
    for piece in blocks(path, block):
        cut = _cut(piece, carry.quotes if quoted else None)
        if not cut:
            carry.add(piece)
            if carry.size > _LONGEST:
                raise InputError(
                    f"{path}, row {line} or soon after: a quoted field or a line does not end; check its quotes."
                )
            continue
        data = carry.take(memoryview(piece)[:cut])
        carry.add(piece[cut:])
        yield _checked(data, path, line)
        line += data.count(b"\n")
    if carry.size:
        yield _checked(carry.take(b""), path, line)
    elif line == 1:
        raise InputError(f"{path}: the file is empty; check the download or the export that made it.")


class _Carry:
    """Pieces of a line whose end has not come yet, joined once it has: a long line is not copied again and again."""

    def __init__(self, quoted: bool) -> None:
        self._quoted = quoted
        self._pieces: list[bytes] = []
        self.size = self.quotes = 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)
        self.quotes += piece.count(b'"') if self._quoted else 0

    def take(self, rest: bytes | memoryview) -> bytes:
        data = b"".join((*self._pieces, rest))
        self._pieces, self.size, self.quotes = [], 0, 0
        return data


def _cut(data: bytes, quotes_before: int | None) -> int:
    """After the last line end outside quotes: there the number of quotes before it is even."""
    end = data.rfind(b"\n") + 1
    quotes = 0 if quotes_before is None else quotes_before + data.count(b'"', 0, end)
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end


def _checked(data: bytes, path: Path, line: int) -> Chunk:
    nul = data.find(b"\0")
    if nul >= 0:
        row = line + data.count(b"\n", 0, nul)
        raise InputError(f"{path}, row {row}: contains a NUL byte, so it is damaged or no text file; export it again.")
    if not data.isascii():
        try:
            str(data, "utf-8")
        except UnicodeDecodeError as error:
            row = line + data.count(b"\n", 0, error.start)
            raise InputError(f"{path}, row {row}: not valid UTF-8 text; convert the file to UTF-8.") from None
    if line == 1 and b"\n" not in data and b"\r" in data.rstrip(b"\r"):
        raise InputError(f"{path}: its lines end in a lone CR, as on old Macs; save it with line ends of today (LF).")
    return Chunk(data.removeprefix(_BOM) if line == 1 else data, line)

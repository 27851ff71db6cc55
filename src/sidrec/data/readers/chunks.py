"""Text files in pieces: plain, gzip or zstandard, cut at line ends, checked for NUL bytes and UTF-8."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from sidrec.core.errors import InputError

BLOCK = 1 << 22
_LONGEST = 1 << 26
_PACKED = (".gz", ".zst")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Chunk:
    """Whole lines, and the number of the first one."""

    data: bytes
    first_line: int


def plain_suffix(path: Path) -> str:
    """The suffix that tells the format: `.csv` of `reviews.csv.gz`."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() in _PACKED else path.suffix.lower()


def chunks(path: Path, *, quoted: bool = False, block: int = BLOCK) -> Iterator[Chunk]:
    """The lines of a file; with `quoted` no cut falls inside a quoted field."""
    carry, line = b"", 1
    for piece in _blocks(path, block):
        cut = _cut(piece, carry.count(b'"') if quoted else None)
        if not cut:
            carry += piece
            if len(carry) > _LONGEST:
                raise InputError(
                    f"{path}, row {line} or soon after: a quoted field or a line does not end; check its quotes."
                )
            continue
        data = b"".join((carry, memoryview(piece)[:cut]))
        carry = piece[cut:]
        yield _checked(data, path, line)
        line += data.count(b"\n")
    if carry:
        yield _checked(carry, path, line)
    elif line == 1:
        raise InputError(f"{path}: the file is empty; check the download or the export that made it.")


def first_line(path: Path) -> str:
    """The first line without its line end, read without touching the rest."""
    for chunk in chunks(path, block=1 << 16):
        return chunk.data.partition(b"\n")[0].rstrip(b"\r").decode()
    return ""


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
    return Chunk(data.removeprefix(_BOM) if line == 1 else data, line)


def _blocks(path: Path, block: int) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from _unpacked(file, path, block)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, a file is needed here.") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it; change its mode or copy it.") from None
    except EOFError:
        raise InputError(f"{path}: the compressed file ends too early; download or copy it again.") from None
    except (gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise InputError(f"{path}: cannot be decompressed ({error}); download or copy it again.") from None


def _unpacked(file: BinaryIO, path: Path, block: int) -> Iterator[bytes]:
    suffix = path.suffix.lower()
    if suffix == ".zst":
        yield from _zstd_blocks(file, block)
        return
    stream = gzip.GzipFile(fileobj=file) if suffix == ".gz" else file
    while piece := stream.read(block):
        yield piece


def _zstd_blocks(file: BinaryIO, block: int) -> Iterator[bytes]:
    """Frame after frame; unlike the library's own stream reader this notices a missing end."""
    decoder = zstandard.ZstdDecompressor().decompressobj()
    while packed := file.read(max(block // 8, 1)):
        while packed:
            if decoder.eof:
                decoder = zstandard.ZstdDecompressor().decompressobj()
            piece = decoder.decompress(packed)
            if piece:
                yield piece
            packed = decoder.unused_data if decoder.eof else b""
    if file.tell() and not decoder.eof:
        raise EOFError

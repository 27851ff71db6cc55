"""Files as blocks of bytes: plain, gzip or zstandard, whole to their end, and no more than a packed file may hold."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from sidrec.core.errors import InputError

PACKED = (".gz", ".zst")
LIMIT = "SIDREC_UNPACK_RATIO"
"""Environment variable: how many times its own size a packed file may hold."""
_RATIO = 200.0
_ZSTD_READ = 4096
"""Bytes to unpack at a time: 128 MB can come out of them, and not more."""
_ALWAYS = 1 << 28
"""Bytes that any packed file may hold."""


def blocks(path: Path, block: int) -> Iterator[bytes]:
    """The unpacked content; whatever is wrong with the file is one sentence."""
    try:
        with path.open("rb") as file:
            yield from _limited(_unpacked(file, path, block), path)
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


def _limited(pieces: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """A small file that unpacks without end fills any memory, so it is stopped."""
    if path.suffix.lower() not in PACKED:
        yield from pieces
        return
    packed, unpacked, ratio = path.stat().st_size, 0, unpack_ratio()
    for piece in pieces:
        unpacked += len(piece)
        if unpacked > max(_ALWAYS, ratio * packed):
            raise InputError(
                f"{path}: unpacks to more than {ratio:g} times its {packed:,} bytes, so it may be made to fill the "
                f"memory; if you trust it, unpack it yourself or raise {LIMIT}."
            )
        yield piece


def unpack_ratio() -> float:
    try:
        return float(os.environ[LIMIT])
    except (KeyError, ValueError):
        return _RATIO


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
    ready: list[bytes] = []
    size = 0
    while packed := file.read(_ZSTD_READ):
        while packed:
            if decoder.eof:
                decoder = zstandard.ZstdDecompressor().decompressobj()
            ready.append(decoder.decompress(packed))
            size += len(ready[-1])
            packed = decoder.unused_data if decoder.eof else b""
            if size >= block:
                yield b"".join(ready)
                ready, size = [], 0
    if file.tell() and not decoder.eof:
        raise EOFError
    if size:
        yield b"".join(ready)

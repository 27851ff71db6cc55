from __future__ import annotations

import gzip

import numpy as np
import pytest
import zstandard

from sidrec.core.errors import InputError
from sidrec.data.readers import unpack
from sidrec.data.readers.unpack import blocks

TEXT = bytes(range(256)) * 1000


@pytest.mark.parametrize("block", [1, 100, 1 << 20])
def test_frames_one_after_the_other_are_one_text(tmp_path, block):
    text = TEXT[: 2000 if block == 1 else None]
    (tmp_path / "a.zst").write_bytes(zstandard.compress(text) + zstandard.compress(text))
    assert b"".join(blocks(tmp_path / "a.zst", block)) == text * 2
    (tmp_path / "a.gz").write_bytes(gzip.compress(text) + gzip.compress(text))
    assert b"".join(blocks(tmp_path / "a.gz", block)) == text * 2


@pytest.mark.slow
def test_what_unpacks_to_very_much_comes_in_pieces(tmp_path, monkeypatch):
    """Half a gigabyte of zeros in 16 KB, behind bytes that hardly pack at all."""
    monkeypatch.setenv(unpack.LIMIT, "1e6")
    noise = np.random.default_rng(0).bytes(1 << 20)
    zeros = zstandard.ZstdCompressor(level=1).compress(bytes(1 << 29))
    (tmp_path / "a.zst").write_bytes(zstandard.compress(noise) + zeros)
    sizes = [len(piece) for piece in blocks(tmp_path / "a.zst", 1 << 22)]
    assert sum(sizes) == (1 << 20) + (1 << 29) and len(zeros) < 20_000
    assert max(sizes) < 1 << 28


@pytest.mark.parametrize("name", ["a.gz", "a.zst"])
def test_the_limit_counts_what_came_out(tmp_path, monkeypatch, name):
    pack = gzip.compress if name == "a.gz" else zstandard.compress
    (tmp_path / name).write_bytes(pack(bytes(1 << 22)))
    assert sum(len(piece) for piece in blocks(tmp_path / name, 1 << 16)) == 1 << 22
    monkeypatch.setattr(unpack, "_ALWAYS", 1 << 20)
    with pytest.raises(InputError, match="unpacks to more than 200 times its"):
        list(blocks(tmp_path / name, 1 << 16))
    monkeypatch.setenv(unpack.LIMIT, "100000")
    assert sum(len(piece) for piece in blocks(tmp_path / name, 1 << 16)) == 1 << 22
    monkeypatch.setenv(unpack.LIMIT, "nonsense")
    assert unpack.unpack_ratio() == 200


def test_plain_files_have_no_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "_ALWAYS", 0)
    monkeypatch.setenv(unpack.LIMIT, "0")
    (tmp_path / "a.csv").write_bytes(TEXT)
    assert b"".join(blocks(tmp_path / "a.csv", 1000)) == TEXT

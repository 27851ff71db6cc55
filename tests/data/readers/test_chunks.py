"""Pieces of text files: cuts, packing, and damage."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.core.errors import InputError
from sidrec.data.readers.chunks import Chunk, chunks, plain_suffix

TEXT = 'user,item\nu1,Ⅷ\nu2,"a\nb"\nu3,مرحبا 🎁\n'.encode()


def packed(path: Path, data: bytes) -> Path:
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(data))
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zst"])
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_pieces_join_to_the_file(tmp_path: Path, name: str, block: int) -> None:
    found = list(chunks(packed(tmp_path / name, TEXT), quoted=True, block=block))
    assert b"".join(chunk.data for chunk in found) == TEXT
    line = 1
    for chunk in found:
        assert chunk.first_line == line
        assert chunk.data.count(b'"') % 2 == 0 and chunk.data.endswith(b"\n")
        line += chunk.data.count(b"\n")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["a,b\n", '"x\ny",c\n', '"q""q",\n', "\n"]), min_size=1), st.integers(1, 9))
def test_no_cut_inside_quotes(tmp_path_factory: pytest.TempPathFactory, lines: list[str], block: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "a.csv"
    path.write_text("".join(lines), encoding="utf-8")
    assert all(chunk.data.count(b'"') % 2 == 0 for chunk in chunks(path, quoted=True, block=block))


def test_two_zstandard_frames_are_one_file(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(zstandard.compress(b"a\n") + zstandard.compress(b"b\n"))
    assert b"".join(chunk.data for chunk in chunks(tmp_path / "a.zst")) == b"a\nb\n"


def test_the_byte_order_mark_and_a_missing_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfuser,item\r\nu,a")
    assert list(chunks(tmp_path / "a.csv")) == [Chunk(b"user,item\r\n", 1), Chunk(b"u,a", 2)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"a.csv: the file is empty"),
        (b"u,a\nu,\0\n", r"a.csv, row 2: contains a NUL byte"),
        (b"u,a\nu,b\nu,\xff\xfe\n", r"a.csv, row 3: not valid UTF-8"),
    ],
)
def test_damaged_text(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(chunks(tmp_path / "a.csv"))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst"])
def test_truncated_or_foreign_packing(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / name, TEXT * 50)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(InputError, match="ends too early; download or copy it again"):
        list(chunks(path))
    path.write_bytes(b"plain text, not packed\n")
    with pytest.raises(InputError, match="cannot be decompressed"):
        list(chunks(path))


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list(chunks(tmp_path / "none.csv"))
    with pytest.raises(InputError, match="is a folder"):
        list(chunks(tmp_path))


def test_a_quote_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidrec.data.readers.chunks._LONGEST", 100)
    (tmp_path / "a.csv").write_text('a,b\n1,"2\n' + "3,4\n" * 100, encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.csv, row 2 or soon after: a quoted field or a line does not end"):
        list(chunks(tmp_path / "a.csv", quoted=True, block=8))


def test_suffix_below_the_packing() -> None:
    assert [plain_suffix(Path(name)) for name in ("a.csv", "a.JSONL.gz", "a.inter.zst")] == [".csv", ".jsonl", ".inter"]


def test_a_long_line_is_not_copied_again_and_again(tmp_path: Path) -> None:
    """In blocks of 64 KB, 30 MB took seconds when every block was added to all before it."""
    line = b'"' + b"x" * 30_000_000 + b'"\n'
    (tmp_path / "a.csv").write_bytes(line)
    start = time.process_time()
    assert [len(chunk.data) for chunk in chunks(tmp_path / "a.csv", quoted=True, block=1 << 16)] == [len(line)]
    assert time.process_time() - start < 1


@pytest.mark.parametrize("text", [b"a\rb\rc", b"a\rb\r"])
def test_lines_that_end_in_cr_only_are_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(text)
    with pytest.raises(InputError, match="its lines end in a lone CR"):
        list(chunks(tmp_path / "a.csv"))
    (tmp_path / "a.csv").write_bytes(b"a\r\nb\r\n")
    assert next(chunks(tmp_path / "a.csv")).data == b"a\r\nb\r\n"
    (tmp_path / "a.csv").write_bytes(b"one line\r")
    assert next(chunks(tmp_path / "a.csv")).data == b"one line\r"

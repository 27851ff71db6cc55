from __future__ import annotations

import errno

import pytest

from sidrec.core.refusals import disk_refusal, refusal


class LibraryError(Exception):
    """What a library makes of an error of the system."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EFBIG, "File too large"), "larger than this system allows"),
        (OSError(errno.EMFILE, "Too many open files", "a.parquet"), "too many files are open"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "a" * 300), "name is too long"),
        (LibraryError("I/O error: File too large (os error 27)"), "larger than this system allows"),
        (LibraryError("[Errno 24] Too many open files: 'x'"), "too many files are open"),
        (OSError("No space left on device (os error 28)"), "no space left on the disk"),
    ],
)
def test_the_disks_refusals_are_known_in_any_dress(error, words):
    assert words in disk_refusal(error)
    assert words in refusal(error)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried"),
        RuntimeError("std::bad_alloc"),
        RuntimeError("can't start new thread"),
        ImportError("libtorch_cpu.so: failed to map segment from shared object"),
    ],
)
def test_a_lack_of_memory_is_known_in_any_dress(error):
    assert disk_refusal(error) is None
    assert refusal(error).startswith("not enough memory; free some")


def test_a_refusal_behind_another_error_counts():
    try:
        raise LibraryError("cannot read") from OSError(errno.EMFILE, "Too many open files", "x.bin")
    except LibraryError as error:
        assert refusal(error).startswith("x.bin: too many files are open")


def test_where_it_is_not_about_writing_the_words_do_not_say_so():
    error = PermissionError(errno.EACCES, "Permission denied", "notes.txt")
    assert disk_refusal(error) == "no permission to write there; choose another place"
    assert refusal(error) == "notes.txt: permission denied"


@pytest.mark.parametrize("error", [KeyError("memory"), ValueError("28"), FileNotFoundError(errno.ENOENT, "no", "x")])
def test_other_errors_are_none_of_the_machines(error):
    assert disk_refusal(error) is None and refusal(error) is None

"""A signal for a process at its n-th writing system call, by the kernel's own means.

A filter (seccomp) lets every system call pass but those that change files; at these the kernel stops the process and
asks its parent (ptrace), who counts, and at the n-th one sends it. Linux on x86-64 and ARM only; see `available`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable

_X86 = {
    "always": (18, 20, 73, 74, 75, 76, 77, 82, 83, 84, 85, 86, 87, 88, 258, 263, 264, 265, 266, 285, 296, 316, 326),
    "write": 1,
    "open": (257, 2),  # system call, which argument holds the flags
    "arch": 0xC000003E,
}
_ARM = {
    "always": (25, 32, 34, 35, 36, 37, 38, 45, 46, 47, 66, 68, 70, 82, 83, 276, 285),
    "write": 64,
    "open": (56, 2),
    "arch": 0xC00000B7,
}
_HERE = {"x86_64": _X86, "aarch64": _ARM}.get(platform.machine(), {})
_OPENS_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_TRACEME, _CONT, _SETOPTIONS, _SECCOMP_STOP = 0, 7, 0x4200, 7
_OPTIONS = 0x2 | 0x4 | 0x8 | 0x80 | 0x100000  # follow forks, vforks, threads; filter stops; no tracee outlives us
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _TRACE = 0x7FFF0000, 0x7FF00000
_WALL = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def available() -> bool:
    return sys.platform == "linux" and bool(_HERE)


def run_traced(body: Callable[[], int], at: int | None, number: int) -> tuple[int, int]:
    """Run `body` in a forked process and send it the signal; its wait status and number of writing system calls."""
    child = os.fork()
    if child == 0:
        _child(body)
    os.waitpid(child, 0)
    _libc.ptrace(_SETOPTIONS, child, None, _OPTIONS)
    _libc.ptrace(_CONT, child, None, None)
    return _watch(child, at, number)


def _child(body: Callable[[], int]) -> None:
    code = 70
    try:
        _libc.ptrace(_TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        _install_filter()
        code = body()
    finally:
        os._exit(code)


def _watch(child: int, at: int | None, number: int) -> tuple[int, int]:
    seen, ended, known = 0, 0, {child}
    while True:
        try:
            pid, status = os.waitpid(-1, _WALL)
        except ChildProcessError:
            return ended, seen
        if not os.WIFSTOPPED(status):
            ended = status if pid == child else ended
            continue
        pass_on = os.WSTOPSIG(status)
        if status >> 16 == _SECCOMP_STOP:
            seen += 1
            if seen == at:
                os.kill(child, number)
        if status >> 16 or pass_on == signal.SIGTRAP or (pass_on == signal.SIGSTOP and pid not in known):
            pass_on = 0
        known.add(pid)
        _libc.ptrace(_CONT, pid, None, pass_on)


def _install_filter() -> None:
    program = _program()
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    lines = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(lines)))
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _libc.prctl(_SET_SECCOMP, _FILTER, head, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def _program() -> list[tuple[int, int, int, int]]:
    """Classic BPF: trace what always writes, opens that may write, and writes beyond the standard streams."""
    load, equal, greater, any_bit, give = 0x20, 0x15, 0x25, 0x45, 0x06
    opens, flags = _HERE["open"]
    lines = [(load, 0, 0, 0)]
    for number in _HERE["always"]:
        lines += [(equal, 0, 1, number), (give, 0, 0, _TRACE)]
    lines += [(equal, 0, 4, opens), (load, 0, 0, 16 + 8 * flags), (any_bit, 0, 1, _OPENS_TO_WRITE)]
    lines += [(give, 0, 0, _TRACE), (give, 0, 0, _ALLOW)]
    lines += [(equal, 0, 4, _HERE["write"]), (load, 0, 0, 16), (greater, 0, 1, 2)]
    lines += [(give, 0, 0, _TRACE), (give, 0, 0, _ALLOW), (give, 0, 0, _ALLOW)]
    return lines

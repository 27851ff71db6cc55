"""Writers that break every promise: a campaign that finds nothing wrong with them is worth nothing."""

from __future__ import annotations

import os
from pathlib import Path

from disturb.process import Body
from disturb.shop import Verb


def _in_place(version: str) -> Body:
    """File by file under the final names, with a scratch file that only a finished run removes."""

    def body() -> None:
        scratch, out = Path(f".out.tmp-{os.getpid()}"), Path("out")
        scratch.touch()
        out.mkdir(exist_ok=True)
        with (out / "runs").open("a", encoding="utf-8") as runs:
            runs.write("one more\n")
        for number in range(10):
            (out / str(number)).write_text(version, encoding="utf-8")
        scratch.unlink()

    return body


def _with_a_mark(version: str) -> Body:
    """A mark that says that somebody is at work, and that nobody takes away when he died."""

    def body() -> None:
        Path("mark").mkdir()
        for number in range(10):
            Path("out").write_text(f"{version} {number}", encoding="utf-8")
        Path("mark").rmdir()

    return body


BAD = (
    Verb("writes in place", _in_place("new"), _in_place("other")),
    Verb("leaves its mark", _with_a_mark("new"), _with_a_mark("other")),
)

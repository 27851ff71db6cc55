"""Where the program begins: whatever happens from here on ends in words."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sidrec.cli.endings import ends_in_words

if TYPE_CHECKING:
    from sidrec.core.errors import SidrecError


def main() -> None:
    """Run the command line."""
    with ends_in_words(_explained):
        from sidrec.cli.app import app

        app(prog_name="sidrec")


def _explained(error: SidrecError) -> str:
    """The same with the options of the command line where the library names arguments."""
    from sidrec.cli.app import app
    from sidrec.cli.options import in_words_of

    return in_words_of(app, sys.argv[1:], error)

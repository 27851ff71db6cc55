"""Two processes that train together."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def two_ranks() -> Iterator[list[dict[str, str]]]:
    """What each has in its environment; inside the block nobody else gets the port at which they meet."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the first of the two listens there beside us
        taken.bind(("127.0.0.1", 0))
        port = str(taken.getsockname()[1])
        shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        yield [{**shared, "RANK": rank, "LOCAL_RANK": rank} for rank in ("0", "1")]

"""A light HTTP client and the loads of `serve_load.py`: closed loops, and arrivals at a fixed rate."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

LOST = (OSError, asyncio.IncompleteReadError, ValueError)
"""A connection that ended under us."""


@dataclass
class Connection:
    """One kept-alive connection to 127.0.0.1; opened when first used and after it was lost."""

    port: int
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, method: str, path: str, body: Any = None, token: str = "") -> tuple[int, bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        head += f"authorization: Bearer {token}\r\n" if token else ""
        try:
            writer.write(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
            await writer.drain()
            lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            headers = dict(line.lower().split(b": ", 1) for line in lines[1:] if b": " in line)
            answer = await reader.readexactly(int(headers[b"content-length"]))
        except LOST:
            self.close()
            raise
        if headers.get(b"connection") == b"close":
            self.close()
        return int(lines[0].split()[1]), answer

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


@dataclass
class Load:
    """What came of it."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    """0 stands for a connection that was lost."""
    latencies: list[float] = field(default_factory=list)
    """Of what was answered with 200."""

    async def note(self, sent: Awaitable[tuple[int, bytes]]) -> tuple[int, bytes]:
        began = time.perf_counter()
        try:
            status, answer = await sent
        except LOST:
            status, answer = 0, b""
        self.statuses[status] += 1
        if status == 200:
            self.latencies.append(time.perf_counter() - began)
        return status, answer

    @property
    def rps(self) -> float:
        return self.statuses[200] / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("nan")

    def as_dict(self) -> dict[str, Any]:
        shown = {f"p{share}_ms": round(self.percentile(share / 100), 1) for share in (50, 95, 99)}
        return {"rps": round(self.rps, 1), **shown, "statuses": dict(self.statuses)}


Ask = Callable[[Connection, int], Awaitable[tuple[int, bytes]]]


async def closed_loop(port: int, clients: int, seconds: float, ask: Ask) -> Load:
    """So many clients, each of which asks again as soon as it is answered."""
    load, began = Load(), time.perf_counter()

    async def client(number: int) -> None:
        connection, count = Connection(port), 0
        while time.perf_counter() - began < seconds:
            await load.note(ask(connection, number + clients * count))
            count += 1
        connection.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    load.seconds = time.perf_counter() - began
    return load


async def arrivals(port: int, rate: float, seconds: float, ask: Ask) -> Load:
    """Requests that come whether the earlier ones are answered or not."""
    load, began, idle, asked = Load(), time.perf_counter(), list[Connection](), set[asyncio.Task[None]]()

    async def one(number: int) -> None:
        connection = idle.pop() if idle else Connection(port)
        await load.note(ask(connection, number))
        idle.append(connection)

    number = 0
    while (now := time.perf_counter() - began) < seconds:
        while number < now * rate:
            task = asyncio.create_task(one(number))
            asked.add(task)
            task.add_done_callback(asked.discard)
            number += 1
        await asyncio.sleep(0.005)
    load.seconds = seconds
    await asyncio.gather(*asked)
    for connection in idle:
        connection.close()
    return load

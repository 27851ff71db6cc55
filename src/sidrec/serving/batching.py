"""Requests that arrive together are computed together: a bounded queue, small batches, a deadline for each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Key = TypeVar("Key", bound=Hashable)
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_Key = TypeVar("_Key", contravariant=True)
_Asked = TypeVar("_Asked", contravariant=True)
_Answer = TypeVar("_Answer")


class QueueFullError(Exception):
    """More requests wait than the queue holds."""


class DeadlineError(Exception):
    """The answer would have come too late."""


@dataclass(frozen=True)
class BatchLimits:
    max_batch: int = 32
    max_wait_s: float = 0.001
    batches_at_once: int = 2
    queue_size: int = 256
    deadline_s: float = 10.0


class Watch(Protocol):
    """Who wants to know what happens here."""

    def batch(self, size: int) -> None: ...

    def waiting(self, count: int) -> None: ...


class Batches(Protocol[_Key, _Asked, _Answer]):
    """Whoever puts requests together."""

    @property
    def full(self) -> bool: ...

    async def ask(self, key: _Key, several: Sequence[_Asked]) -> list[_Answer]:
        """The answers, in order; QueueFullError or DeadlineError where there is no room or no time."""

    def close(self) -> None: ...


@dataclass(frozen=True, eq=False)
class _Waiting(Generic[Asked, Answer]):
    asked: Asked
    answer: asyncio.Future[Answer]
    since: float


class Batcher(Generic[Key, Asked, Answer]):
    """Only requests with the same key share a batch; the oldest go first. All of it lives in one event loop.

    A batch begins as soon as a thread is free and its first request has waited long enough, so that under load
    batches grow by themselves, and a request that is alone hardly waits.
    """

    def __init__(
        self, compute: Callable[[Key, Sequence[Asked]], Sequence[Answer]], limits: BatchLimits, watch: Watch
    ) -> None:
        self._compute, self._limits, self._watch = compute, limits, watch
        self._groups: dict[Key, deque[_Waiting[Asked, Answer]]] = {}
        self._pool = ThreadPoolExecutor(limits.batches_at_once, thread_name_prefix="batch")
        self._running, self._waiting = 0, 0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def full(self) -> bool:
        return self._waiting >= self._limits.queue_size

    async def ask(self, key: Key, several: Sequence[Asked]) -> list[Answer]:
        """The answers, in order; all of them or an error."""
        if self._waiting + len(several) > self._limits.queue_size:
            raise QueueFullError
        loop = asyncio.get_running_loop()
        entries = [_Waiting[Asked, Answer](asked, loop.create_future(), loop.time()) for asked in several]
        self._groups.setdefault(key, deque()).extend(entries)
        self._count(len(entries))
        self._pump()
        try:
            async with asyncio.timeout(self._limits.deadline_s):
                return [await entry.answer for entry in entries]
        except TimeoutError:
            raise DeadlineError from None
        finally:
            for entry in entries:  # whoever is gone is not computed any more
                entry.answer.cancel()

    def close(self) -> None:
        """When every request has been answered."""
        self._pool.shutdown(wait=True)

    def _count(self, change: int) -> None:
        self._waiting += change
        self._watch.waiting(self._waiting)

    def _pump(self) -> None:
        """Begin every batch that can begin; otherwise come back when the next one can."""
        self._forget_the_gone()
        now = asyncio.get_running_loop().time()
        while self._groups and self._running < self._limits.batches_at_once:
            key, group = min(self._groups.items(), key=lambda entry: self._ready_at(entry[1]))
            if self._ready_at(group) > now:
                break
            self._begin(key, group)
        self._set_timer()

    def _ready_at(self, group: deque[_Waiting[Asked, Answer]]) -> float:
        patience = 0.0 if len(group) >= self._limits.max_batch else self._limits.max_wait_s
        return group[0].since + patience

    def _begin(self, key: Key, group: deque[_Waiting[Asked, Answer]]) -> None:
        batch = [group.popleft() for _ in range(min(len(group), self._limits.max_batch))]
        if not group:
            del self._groups[key]
        self._running += 1
        self._count(-len(batch))
        self._watch.batch(len(batch))
        loop = asyncio.get_running_loop()
        computed = loop.run_in_executor(self._pool, self._compute, key, [entry.asked for entry in batch])
        computed.add_done_callback(lambda done: self._finish(batch, done))

    def _finish(self, batch: list[_Waiting[Asked, Answer]], done: asyncio.Future[Sequence[Answer]]) -> None:
        self._running -= 1
        error = done.exception()
        answers: Sequence[Answer | None] = [None] * len(batch) if error is not None else done.result()
        for entry, answer in zip(batch, answers, strict=True):
            if entry.answer.done():
                continue
            if error is not None:
                entry.answer.set_exception(error)
            elif answer is not None:
                entry.answer.set_result(answer)
        self._pump()

    def _forget_the_gone(self) -> None:
        for key in [key for key, group in self._groups.items() if any(entry.answer.done() for entry in group)]:
            group = self._groups[key]
            left = deque(entry for entry in group if not entry.answer.done())
            self._count(len(left) - len(group))
            self._groups[key] = left
            if not left:
                del self._groups[key]

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._groups and self._running < self._limits.batches_at_once:
            at = min(map(self._ready_at, self._groups.values()))
            self._timer = asyncio.get_running_loop().call_at(at, self._pump)

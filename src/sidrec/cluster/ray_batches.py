"""Ray Serve's batches behind the interface of ours; inside a replica only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from ray import serve

from sidrec.serving.batching import BatchLimits, DeadlineError, QueueFullError, Watch

Key = TypeVar("Key", bound=Hashable)
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class RayBatches(Generic[Key, Asked, Answer]):
    """Ray puts together whatever arrives; what has one key is computed together, and no key's error is another's."""

    def __init__(
        self, compute: Callable[[Key, Sequence[Asked]], Sequence[Answer]], limits: BatchLimits, watch: Watch
    ) -> None:
        self._compute, self._limits, self._watch = compute, limits, watch
        self._pool = ThreadPoolExecutor(limits.batches_at_once, thread_name_prefix="batch")
        self._waiting = 0
        batched = serve.batch(
            max_batch_size=limits.max_batch,
            batch_wait_timeout_s=limits.max_wait_s,
            max_concurrent_batches=limits.batches_at_once,
        )
        self._one: Callable[[tuple[Key, Asked]], Any] = batched(self._together)

    @property
    def full(self) -> bool:
        return self._waiting >= self._limits.queue_size

    async def ask(self, key: Key, several: Sequence[Asked]) -> list[Answer]:
        """The answers, in order; all of them or an error."""
        if self._waiting + len(several) > self._limits.queue_size:
            raise QueueFullError
        self._count(len(several))
        try:
            async with asyncio.timeout(self._limits.deadline_s):
                found = await asyncio.gather(*(self._one((key, asked)) for asked in several))
        except TimeoutError:
            raise DeadlineError from None
        finally:
            self._count(-len(several))
        for answer in found:
            if isinstance(answer, Exception):
                raise answer
        return found

    def close(self) -> None:
        """When every request has been answered."""
        self._pool.shutdown(wait=True)

    def _count(self, change: int) -> None:
        self._waiting += change
        self._watch.waiting(self._waiting)

    async def _together(self, batch: list[tuple[Key, Asked]]) -> list[Answer | Exception]:
        groups: dict[Key, list[int]] = {}
        for row, (key, _) in enumerate(batch):
            groups.setdefault(key, []).append(row)
        answers: dict[int, Answer | Exception] = {}
        for key, rows in groups.items():
            answers |= zip(rows, await self._answers(key, [batch[row][1] for row in rows]), strict=True)
        return [answers[row] for row in range(len(batch))]

    async def _answers(self, key: Key, several: Sequence[Asked]) -> Sequence[Answer | Exception]:
        self._watch.batch(len(several))
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._compute, key, several)
        except Exception as error:
            return [error] * len(several)

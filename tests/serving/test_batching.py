from __future__ import annotations

import asyncio
import threading

import pytest

from sidrec.serving.batching import Batcher, BatchLimits, DeadlineError, QueueFullError


class Notes:
    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.most = 0

    def batch(self, size: int) -> None:
        self.sizes.append(size)

    def waiting(self, count: int) -> None:
        self.most = max(self.most, count)


def doubled(key, asked):
    return [(key, 2 * number) for number in asked]


def run(compute, scenario, **limits):
    """The scenario with a batcher; gives its result and what was noted."""

    async def inside():
        notes = Notes()
        batcher = Batcher(compute, BatchLimits(**limits), notes)
        try:
            return await scenario(batcher), notes
        finally:
            batcher.close()

    return asyncio.run(inside())


def test_everybody_gets_his_own_answer():
    async def scenario(batcher):
        return await asyncio.gather(*(batcher.ask(number % 3, [number]) for number in range(50)))

    found, notes = run(doubled, scenario, max_batch=8)
    assert found == [[(number % 3, 2 * number)] for number in range(50)]
    assert max(notes.sizes) == 8 and sum(notes.sizes) == 50 and len(notes.sizes) < 20


def test_one_alone_does_not_wait_for_a_full_batch():
    async def scenario(batcher):
        return await batcher.ask("a", [1])

    found, notes = run(doubled, scenario, max_batch=100, max_wait_s=0.01)
    assert found == [("a", 2)] and notes.sizes == [1]


def test_a_slow_key_does_not_hold_up_another():
    release = threading.Event()

    def compute(key, asked):
        if key == "slow":
            release.wait(5)
        return doubled(key, asked)

    async def scenario(batcher):
        slow = asyncio.create_task(batcher.ask("slow", [1]))
        await asyncio.sleep(0.02)
        quick = await batcher.ask("quick", [2])
        waited = not slow.done()
        release.set()
        return quick, waited, await slow

    assert run(compute, scenario)[0] == ([("quick", 4)], True, [("slow", 2)])


def test_a_full_queue_refuses_and_recovers():
    release = threading.Event()

    def compute(key, asked):
        release.wait(5)
        return doubled(key, asked)

    async def scenario(batcher):
        asked = [asyncio.create_task(batcher.ask("a", [number])) for number in range(6)]
        await asyncio.sleep(0.05)
        assert batcher.full
        with pytest.raises(QueueFullError):
            await batcher.ask("a", [9])
        release.set()
        answers = await asyncio.gather(*asked)
        assert not batcher.full
        return answers, await batcher.ask("a", [9])

    (answers, last), notes = run(compute, scenario, max_batch=1, max_wait_s=0, batches_at_once=2, queue_size=4)
    assert answers == [[("a", 2 * number)] for number in range(6)] and last == [("a", 18)]
    assert notes.most == 4


def test_who_waits_too_long_is_told_and_not_computed():
    release, seen = threading.Event(), []

    def compute(key, asked):
        seen.extend(asked)
        release.wait(5)
        return doubled(key, asked)

    async def scenario(batcher):
        first = asyncio.create_task(batcher.ask("a", [1]))
        await asyncio.sleep(0.02)
        with pytest.raises(DeadlineError):
            await batcher.ask("a", [2])
        with pytest.raises(DeadlineError):
            await first
        release.set()
        return await batcher.ask("a", [3])

    found, _ = run(compute, scenario, max_batch=1, batches_at_once=1, deadline_s=1.0)
    assert found == [("a", 6)] and seen == [1, 3]


def test_an_error_reaches_all_who_asked_and_nobody_else():
    def compute(key, asked):
        if key == "bad":
            raise ValueError("no")
        return doubled(key, asked)

    async def scenario(batcher):
        asked = [batcher.ask("bad", [1]), batcher.ask("good", [2]), batcher.ask("bad", [3])]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, second, third = run(compute, scenario)[0]
    assert isinstance(first, ValueError) and isinstance(third, ValueError) and second == [("good", 4)]

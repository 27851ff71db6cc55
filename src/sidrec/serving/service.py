"""What the routes share: models, the batcher, metrics and who may do what."""

from __future__ import annotations

import asyncio
import functools
import hmac
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import Depends, Request

from sidrec.core.errors import SidrecError
from sidrec.models.base import Recommender
from sidrec.serving.batching import Batcher, Batches, BatchLimits, DeadlineError, QueueFullError, Watch
from sidrec.serving.metrics import Metrics
from sidrec.serving.model_store import LoadedModel, ModelStore
from sidrec.serving.problems import ProblemError
from sidrec.serving.questions import RecommendOptions
from sidrec.serving.recommending import Somebody, Way, answer_batch, answer_traced
from sidrec.serving.schemas import Recommended, Served
from sidrec.serving.settings import ServeSettings
from sidrec.serving.user_store import UserStore

_log = logging.getLogger("sidrec")
_LOOK_AGAIN_S = 0.5
_LONGEST_PAUSE_S = 30.0

Given = ParamSpec("Given")
Result = TypeVar("Result")
Answering = Callable[[Way, Sequence[Somebody]], Sequence[Recommended]]
MakesBatches = Callable[[Answering, BatchLimits, Watch], Batches[Way, Somebody, Recommended]]


@dataclass(frozen=True)
class Service:
    settings: ServeSettings
    models: ModelStore
    metrics: Metrics
    batcher: Batches[Way, Somebody, Recommended]
    tracer: Batcher[Way, Somebody, Recommended]
    """Traces are for people and take longer: they wait for each other, and no list waits for them."""
    token: str | None = None
    users: UserStore | None = None

    @classmethod
    def of(
        cls,
        settings: ServeSettings,
        models: ModelStore,
        token: str | None = None,
        users: UserStore | None = None,
        batches: MakesBatches = Batcher,
    ) -> Service:
        metrics = Metrics()
        limits = BatchLimits(
            settings.max_batch,
            settings.max_wait_ms / 1000,
            settings.batches_at_once,
            settings.queue_size,
            settings.deadline_s,
        )
        one_by_one = BatchLimits(1, 0.0, 1, 100, settings.deadline_s)
        batcher = batches(answer_batch, limits, metrics)
        tracer = Batcher(_traced, one_by_one, _Nobody())
        return cls(settings, models, metrics, batcher, tracer, token, users)

    async def recommend(
        self, options: RecommendOptions, several: Sequence[Somebody], *, trace: bool = False
    ) -> list[Served]:
        """The answers, or a problem where there is no room or no time."""
        began = time.perf_counter()
        loaded = self.models.get(options.model)
        way = Way.of(loaded, options, names_users=any(somebody.user_id is not None for somebody in several))
        await in_thread(way.check)
        try:
            found = await (self.tracer if trace else self.batcher).ask(way, several)
        except QueueFullError:
            self.metrics.refused("queue")
            raise ProblemError(503, "too many requests wait already; try again.", {"Retry-After": "1"}) from None
        except DeadlineError:
            self.metrics.refused("deadline")
            words = f"there was no answer within {self.settings.deadline_s:g} seconds; try again."
            raise ProblemError(503, words, {"Retry-After": "2"}) from None
        took = (time.perf_counter() - began) * 1000
        who: dict[str, Any] = {"name": loaded.name, "version": loaded.version, "milliseconds": round(took, 3)}
        return [Served.model_construct(None, **dict(answer), **who) for answer in found]

    @property
    def the_store(self) -> UserStore:
        assert self.users is not None
        return self.users

    def is_token(self, given: str) -> bool:
        """Compared in constant time."""
        sent = given.encode("latin-1", "replace")  # as a header came in
        return self.token is not None and hmac.compare_digest(sent, self.token.encode())

    def change(self, name: str | None, change: Callable[[Recommender], None]) -> LoadedModel:
        before = self.models.get(name)
        return self._serves(before, self.models.change(before.name, change))

    def reload(self, name: str | None) -> None:
        """One model or all; what is the same on the disk is loaded again all the same."""
        before = self.models.all() if name is None else [self.models.get(name)]
        for one, now in zip(before, self.models.reload(*(one.name for one in before)), strict=True):
            self._serves(one, now)

    async def follow(self) -> None:
        """As long as the service runs: what one worker has loaded, the others load; what they cannot is said once."""
        waits, said = pauses(), ""
        while True:
            await asyncio.sleep(next(waits))
            before = {loaded.name: loaded for loaded in self.models.all()}
            try:
                for loaded in await in_thread(self.models.follow):
                    self._serves(before[loaded.name], loaded)
                waits, said = pauses(), ""
            except SidrecError as error:
                if str(error) != said:
                    _log.warning("the other workers serve a version that cannot be loaded here: %s", error)
                said = str(error)

    def _serves(self, before: LoadedModel, now: LoadedModel) -> LoadedModel:
        self.metrics.serves(now.name, now.version, before.version if before.version != now.version else None)
        return now

    def close(self) -> None:
        if self.users is not None:
            self.users.close()
        self.batcher.close()
        self.tracer.close()


def pauses() -> Iterator[float]:
    """Seconds between one try and the next: short at first, then longer and longer."""
    pause = _LOOK_AGAIN_S
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE_S)


class _Nobody:
    def batch(self, size: int) -> None: ...

    def waiting(self, count: int) -> None: ...


def _traced(way: Way, several: Sequence[Somebody]) -> list[Recommended]:
    return [answer_traced(way, somebody) for somebody in several]


async def in_thread(call: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """Off the event loop, which others need meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(None, functools.partial(call, *given, **named))


def of_app(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


TheService = Annotated[Service, Depends(of_app)]

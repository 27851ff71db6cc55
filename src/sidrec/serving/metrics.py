"""What a service tells about itself, in Prometheus' words; several workers are counted together."""

from __future__ import annotations

import os
import time
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SHARED_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Of one app."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._registry}
        self._seconds = Histogram(
            "sidrec_request_seconds", "From request to answer.", ["route", "status"], buckets=_SECONDS, **own
        )
        self._sizes = Histogram("sidrec_batch_size", "Requests computed together.", buckets=_SIZES, **own)
        self._waiting = Gauge("sidrec_queue_waiting", "Requests that wait.", multiprocess_mode="livesum", **own)
        self._refused = Counter("sidrec_refused_total", "Requests refused with 503.", ["reason"], **own)
        self._model = Gauge(
            "sidrec_model_loaded_info",
            "1 for the version of a model that serves.",
            ["model", "version"],
            multiprocess_mode="livemax",
            **own,
        )

    def batch(self, size: int) -> None:
        self._sizes.observe(size)

    def waiting(self, count: int) -> None:
        self._waiting.set(count)

    def refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def serves(self, name: str, version: str, before: str | None = None) -> None:
        if before is not None:
            self._model.labels(name, before).set(0)
        self._model.labels(name, version).set(1)

    def answered(self, route: str, status: int, seconds: float) -> None:
        self._seconds.labels(route, str(status)).observe(seconds)

    def text(self) -> bytes:
        """Of this worker, or where they share a directory of all."""
        if SHARED_DIRECTORY not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


class Timed:
    """Wraps the app: every answer is counted under the route's pattern, never under a path that a client made up."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = scope.get("route")
            name = "other" if route is None else str(route.path)
            self._metrics.answered(name, status, time.perf_counter() - began)

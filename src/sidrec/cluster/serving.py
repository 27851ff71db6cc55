"""The service on Ray Serve: the same app in replicas that come, go and are replaced, with Ray's batches for ours.

`application` is what a Ray Serve config names (`docs/serve.yaml`); `serve_on_ray` is `sidrec serve --on ray`.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI
from pydantic import Field, model_validator

from sidrec.cluster.session import import_ray, ray_session, worker_environment
from sidrec.core.artifacts import open_artifact
from sidrec.core.errors import SettingsError
from sidrec.core.settings import Settings
from sidrec.serving.run import in_address, listening, loaded_app
from sidrec.serving.settings import ServeSettings

NAME = "sidrec"
_LAST_ANSWERS_S = 5
_PATIENCE_S = {"RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60", "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "60"}


class RaySettings(Settings):
    replicas: int | None = Field(None, ge=1, le=10_000)
    """So many copies of the service; None: between min_replicas and max_replicas, by load."""
    min_replicas: int = Field(1, ge=0)
    max_replicas: int = Field(1, ge=1, le=10_000)
    cpus: float = Field(1.0, gt=0)
    """Processors that a replica is given."""

    @model_validator(mode="after")
    def _in_order(self) -> RaySettings:
        if self.replicas is None and self.min_replicas > self.max_replicas:
            raise ValueError(f"min_replicas is {self.min_replicas}, more than max_replicas {self.max_replicas}")
        return self


def application(args: dict[str, Any]) -> Any:
    """What Ray Serve deploys: settings of the service, and `replicas`, `min_replicas`, `max_replicas`, `cpus`."""
    ours = {name: args[name] for name in RaySettings.model_fields if name in args}
    rest = {name: value for name, value in args.items() if name not in ours}
    scale = RaySettings.parse(ours, owner="serve on ray", where="args")
    return bound(ServeSettings.parse(rest, owner="serve", where="args"), scale)


def bound(settings: ServeSettings, scale: RaySettings) -> Any:
    """The app as a deployment of Ray Serve."""
    _check(settings)
    import_ray()
    from ray import serve

    text, threads = settings.model_dump_json(), int(max(1, scale.cpus))

    def app() -> FastAPI:
        return replica_app(text, threads)

    class Recommender:
        """One replica: every model in its own memory."""

    deployment = serve.deployment(serve.ingress(app)(Recommender))
    return deployment.options(name="Recommender", **_options(settings, scale)).bind()


def replica_app(text: str, threads: int) -> FastAPI:
    """What a replica runs; it reads the models itself, from a shared disk or by URI."""
    from sidrec.cluster.ray_batches import RayBatches

    settings = ServeSettings.model_validate_json(text)
    chosen = settings.model_copy(update={"torch_threads": settings.torch_threads or threads})
    return loaded_app(chosen, RayBatches, admin=False)


def serve_on_ray(
    settings: ServeSettings, scale: RaySettings, announce: Callable[[str], None], address: str | None = None
) -> None:
    """Until a signal ends it; `announce` hears the address."""
    _check(settings)  # before Ray is started for nothing
    ended = threading.Event()
    for path in settings.models.values():
        open_artifact(path, "model")
    with listening(settings) as taken:
        port = taken.getsockname()[1]
    with serving_session(address):
        try:
            deploy(settings.model_copy(update={"port": port}), scale)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: ended.set())
            announce(f"http://{in_address(settings.host)}:{port}")
            ended.wait()
        finally:
            remove()


@contextmanager
def serving_session(address: str | None = None, num_cpus: int | None = None) -> Iterator[Any]:
    """A connection to Ray whose HTTP server may take its time to start; a busy machine needs more than 5 seconds."""
    for name, seconds in _PATIENCE_S.items():
        os.environ.setdefault(name, seconds)
    with ray_session(address, num_cpus) as ray:
        yield ray


def deploy(settings: ServeSettings, scale: RaySettings) -> None:
    """Start the app on the Ray that we are connected to, and wait until it answers."""
    from ray import serve

    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    quiet = {"enable_access_log": settings.access_log, "log_level": "WARNING"}
    serve.start(http_options={"host": settings.host, "port": settings.port}, logging_config=quiet)
    serve.run(bound(settings, scale), name=NAME, route_prefix="/", logging_config=quiet)


def remove() -> None:
    """Take the app away; Ray Serve goes with it where nothing else runs there."""
    from ray import serve

    serve.delete(NAME)
    if not serve.status().applications:
        serve.shutdown()


def _check(settings: ServeSettings) -> None:
    if settings.workers != 1:
        raise SettingsError("on Ray there are replicas instead of workers; leave workers out.", arguments=("workers",))
    if settings.store is not None and settings.store.startswith("sqlite"):
        words = "replicas on several machines cannot share an SQLite file; use postgresql://."
        raise SettingsError(words, arguments=("store",))


def _options(settings: ServeSettings, scale: RaySettings) -> dict[str, Any]:
    """A replica takes as many requests as its queue holds, and more replicas come when each has a batch to do."""
    busy = float(settings.max_batch * settings.batches_at_once)
    load = {"min_replicas": scale.min_replicas, "max_replicas": scale.max_replicas, "target_ongoing_requests": busy}
    count = {"num_replicas": scale.replicas} if scale.replicas is not None else {"autoscaling_config": load}
    return {
        **count,
        "max_ongoing_requests": settings.queue_size + settings.max_batch * settings.batches_at_once,
        "graceful_shutdown_timeout_s": settings.deadline_s + _LAST_ANSWERS_S,
        "ray_actor_options": {"num_cpus": scale.cpus, "runtime_env": worker_environment()},
    }

"""A service as processes: one that does it all, or several behind one socket."""

from __future__ import annotations

import logging
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import torch
import uvicorn
from fastapi import FastAPI
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.supervisors import Multiprocess

from sidrec.core.errors import SettingsError, SidrecError
from sidrec.serving.app import create_app
from sidrec.serving.batching import Batcher
from sidrec.serving.metrics import SHARED_DIRECTORY
from sidrec.serving.model_store import ModelStore, load
from sidrec.serving.service import MakesBatches, Service, pauses
from sidrec.serving.settings import TOKEN_VARIABLE, ServeSettings
from sidrec.serving.user_store import DatabaseStore

_log = logging.getLogger("sidrec")

SETTINGS_VARIABLE = "SIDREC_SERVE"
"""How a worker learns what to serve."""
_LAST_ANSWERS_S = 5
"""Beyond the deadline, for what was accepted before the end."""
_KEEP_ALIVE_S = 75
"""Longer than proxies and clients keep idle connections: who closes first loses requests that are just being sent."""
_WORKER_STARTS_S = 120


def serve(settings: ServeSettings, announce: Callable[[str], None]) -> None:
    """Until a signal ends it: what was accepted is answered first. `announce` hears the address."""
    with listening(settings) as taken:
        address = f"http://{in_address(settings.host)}:{taken.getsockname()[1]}"
        if settings.workers == 1:
            server = uvicorn.Server(_config(loaded_app(settings), settings))
            _ended_by(server.handle_exit)
            announce(address)
            server.run(sockets=[taken])
            return
        _refuse_what_no_worker_can(settings)
        with tempfile.TemporaryDirectory(prefix="sidrec-serve-") as shared:
            os.environ[SHARED_DIRECTORY] = shared
            os.environ[SETTINGS_VARIABLE] = settings.model_dump_json()
            workers = Workers(_config(f"{__name__}:worker_app", settings), [taken], shared)
            announce(address)  # signals are heard already
            workers.run()


class Workers(Multiprocess):
    """Hears of a worker's death at once, also while it starts, because nobody else holds its end of the line open."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], shared: str) -> None:
        super().__init__(config, sockets=sockets)
        self._shared = shared

    def init_processes(self) -> None:
        super().init_processes()
        self._let_go()

    def keep_subprocess_alive(self) -> None:
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            # what it served and who waited for it is over
            mark_process_dead(pid, self._shared)  # type: ignore[no-untyped-call]
        self._let_go()

    def _let_go(self) -> None:
        for process in self.processes:
            process.child_conn.close()


def worker_app() -> FastAPI:
    """What every worker of several runs. One that follows a dead one may find a model that was broken meanwhile: it
    says so once and waits for a whole one, while the others serve."""
    settings = ServeSettings.model_validate_json(os.environ[SETTINGS_VARIABLE])
    waits, said = pauses(), False
    with _ended_at_once():
        while True:
            try:
                return loaded_app(settings)
            except SidrecError as error:
                if not said:
                    _log.error("worker %d cannot begin and tries again from time to time: %s", os.getpid(), error)
            said = True
            time.sleep(next(waits))


def loaded_app(settings: ServeSettings, batches: MakesBatches = Batcher, *, admin: bool = True) -> FastAPI:
    """Models loaded, requests put together by `batches`; without `admin` nothing can be changed over HTTP."""
    torch.set_num_threads(settings.threads)
    shared = os.environ.get(SHARED_DIRECTORY)
    models = ModelStore(settings.models, None if shared is None else Path(shared))
    models.load_all()
    users = None if settings.store is None else DatabaseStore(settings.store)
    token = os.environ.get(TOKEN_VARIABLE) or None if admin else None
    return create_app(Service.of(settings, models, token, users, batches))


def listening(settings: ServeSettings) -> socket.socket:
    """The socket, taken before models are loaded: an address that cannot be had is said at once."""
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except (OSError, UnicodeError) as error:
        why = (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
        words = f"cannot listen on {settings.host} port {settings.port}: {why}; choose another."
        raise SettingsError(words, arguments=("host", "port")) from None


def _config(app: FastAPI | str, settings: ServeSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        workers=settings.workers,
        log_level="info" if settings.access_log else "warning",
        access_log=settings.access_log,
        server_header=False,
        timeout_graceful_shutdown=int(settings.deadline_s) + _LAST_ANSWERS_S,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_worker_healthcheck=_WORKER_STARTS_S,
    )


def _refuse_what_no_worker_can(settings: ServeSettings) -> None:
    """Said once, here, instead of by every worker again and again."""
    for name, path in settings.models.items():
        load(name, path)
    if settings.store is not None:
        DatabaseStore(settings.store).close()


def _ended_by(end: Callable[[int, FrameType | None], None]) -> None:
    """uvicorn ends gracefully by itself, and then raises the signal once more for whoever handled it before: that must
    not end this program, and one that comes before uvicorn listens must not be lost."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


@contextmanager
def _ended_at_once() -> Iterator[None]:
    """While nothing was accepted yet, a signal need not wait for anything; uvicorn would only note it."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host

"""A connection to Ray: quiet, without a dashboard, with workers that import this very sidrec."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sidrec.core.errors import SettingsError, SidrecError

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_worker_niceness": "0",
    "RAY_raylet_start_wait_time_s": "180",  # a busy machine starts slowly
}
"""What Ray reads when it is imported or started; whoever set one of these himself keeps it."""


_ANSWERS_S = 5.0


@contextmanager
def ray_session(address: str | None = None, num_cpus: int | None = None) -> Iterator[Any]:
    """The module `ray`, connected: to `address` (`auto`: the cluster this machine belongs to), else started here.

    A connection that this process already has is used and left as it is; one that is made here ends with the block.
    Without an address the environment's RAY_ADDRESS counts, else Ray runs on this machine with `num_cpus`.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    _connect(ray, address or os.environ.get("RAY_ADDRESS") or "local", num_cpus)
    try:
        yield ray
    finally:
        ray.shutdown()


def wants_ray(on: str | None, address: str | None = None) -> bool:
    """What `on` and `address` of a verb say: Ray, or this machine as always."""
    if on not in (None, "ray"):
        raise SettingsError(
            f"{on}: is no place to work on; it is ray, or this machine where it is left out.", arguments=("on",)
        )
    if on is None and address is not None:
        raise SettingsError(
            "an address is that of a Ray cluster; work on ray, or leave it out.", arguments=("address",)
        )
    return on == "ray"


def import_ray() -> Any:
    """Ray, told to be quiet before it is imported."""
    if find_spec("ray") is None:
        raise SettingsError(
            "Ray is not installed; `pip install 'sidrec[ray]'`, or leave `on ray` out.", arguments=("on",)
        )
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


def worker_environment(**variables: str) -> dict[str, Any]:
    """A runtime environment in which workers import the sidrec that this process has."""
    paths = [str(_source()), os.environ.get("PYTHONPATH", "")] if _source().name != "site-packages" else []
    found = {"PYTHONPATH": os.pathsep.join(path for path in paths if path)} if paths else {}
    return {"env_vars": {"TOKENIZERS_PARALLELISM": "false", **found, **variables}}


def _source() -> Path:
    return Path(__file__).resolve().parents[2]


def _connect(ray: Any, address: str, num_cpus: int | None) -> None:
    _refuse_silent(address)
    ours = {"num_cpus": num_cpus, "include_dashboard": False} if address == "local" else {}
    try:
        with _own_signals():
            ray.init(
                address=address,
                runtime_env=worker_environment(),
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
                **ours,
            )
    except (ConnectionError, ValueError, RuntimeError) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise SidrecError(
            f"no Ray cluster at {address}: {words} Start its head there first, or leave the address out.",
            arguments=("address",),
        ) from error


def _refuse_silent(address: str) -> None:
    """Ray would look for a minute, in words of its own, for a head that is not there."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS_S).close()
    except (OSError, OverflowError, UnicodeError) as error:
        words = f"nobody answers there ({error}). Start its head first, or leave the address out."
        raise SidrecError(f"no Ray cluster at {address}: {words}", arguments=("address",)) from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; how this program ends stays its own affair."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""`sidrec serve`: models behind HTTP, and the page that shows them at work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sidrec.serving.settings import ServeSettings

Words = list[str] | None
Run = Callable[["ServeSettings", Callable[[str], None]], None]


def serve(
    models: Annotated[list[str], typer.Argument(help="Directories of saved models, or NAME=DIR; the first answers.")],
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 is open to the network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(help="Processes, each with its own copy of the models.")] = 1,
    store: Annotated[
        str | None, typer.Option(help="Keep users' interactions: sqlite:///path or postgresql://user@host/name.")
    ] = None,
    sample_users: Annotated[
        int | None, typer.Option(help="Histories of the training data that may be shown, without user ids.")
    ] = None,
    assignments: Annotated[
        Words, typer.Option("--set", help="A setting of the service, such as max_batch=16; repeatable.")
    ] = None,
    on: Annotated[str | None, typer.Option("--on", help="ray: replicas on Ray Serve.")] = None,
    address: Annotated[
        str | None, typer.Option("--address", help="With --on ray: a running cluster, auto or ray://...")
    ] = None,
    replicas: Annotated[int | None, typer.Option("--replicas", help="With --on ray: how many, fixed.")] = None,
    min_replicas: Annotated[int, typer.Option("--min-replicas", help="With --on ray: at least, by load.")] = 1,
    max_replicas: Annotated[int | None, typer.Option("--max-replicas", help="With --on ray: at most, by load.")] = None,
) -> None:
    """Serve models over HTTP, with a page at /.      Example: sidrec serve runs/demo/llada-rec --port 8000

    On a Ray cluster: sidrec serve s3://shop/runs/model --on ray --address auto --min-replicas 2 --max-replicas 20
    """
    from sidrec.cli import console
    from sidrec.core.errors import SettingsError
    from sidrec.core.settings import parse_assignments
    from sidrec.serving.settings import ServeSettings, named_models

    chosen = {
        "models": named_models(models),
        "host": host,
        "port": port,
        "workers": workers,
        "store": store,
        "sample_users": sample_users,
    }
    settings = ServeSettings.parse({**chosen, **parse_assignments(assignments or [])}, owner="serve", where="serve")
    try:
        from sidrec.serving.run import serve as run
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is not installed; run: pip install 'sidrec[serve]'.") from None
    start = _way(run, on, address, (replicas, min_replicas, max_replicas))

    def announce(address: str) -> None:
        console.say(f"serving {', '.join(settings.models)} at {address}, until Ctrl-C")
        console.say(f"open {address}/ in a browser, or ask {address}/v1/models")
        sys.stdout.flush()  # whoever started us may wait for these lines

    console.progress().note("loading the models")
    start(settings, announce)
    console.say("stopped; everything that was accepted is answered.")


def _way(here: Run, on: str | None, address: str | None, wanted: tuple[int | None, int, int | None]) -> Run:
    """On this machine, or on Ray."""
    from sidrec.core.errors import SettingsError

    replicas, least, most = wanted
    if on not in (None, "ray"):
        raise SettingsError(f"--on {on}: a service runs on this machine or on ray; leave it out or write --on ray.")
    if on is None:
        if address is not None or wanted != (None, 1, None):
            raise SettingsError("--address and replicas belong to Ray; say --on ray, too. Here there are --workers.")
        return here
    from sidrec.cluster.serving import RaySettings, serve_on_ray

    values = {"replicas": replicas, "min_replicas": least, "max_replicas": max(least, 1) if most is None else most}
    scale = RaySettings.parse(values, owner="serve on ray", where="serve")
    return lambda settings, announce: serve_on_ray(settings, scale, announce, address)

"""Options of the verbs that can do their work on a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

On = Annotated[str | None, typer.Option("--on", help="`ray`: on a cluster, see docs/cluster.md.")]
Address = Annotated[
    str | None, typer.Option("--address", help="Of the Ray cluster, or `auto`; default: Ray on this machine.")
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="How many on Ray; default one per processor, one for training.")
]


def on_ray(on: str | None, address: str | None, workers: int | None) -> bool:
    """Whether the work goes to Ray; what belongs to Ray alone is refused without it."""
    from sidrec.cluster.session import wants_ray
    from sidrec.core.errors import SettingsError

    if on is None and workers is not None:
        raise SettingsError("workers are those of a Ray cluster; add --on ray, or leave them out.")
    return wants_ray(on, address)

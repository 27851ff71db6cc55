"""`sidrec export`: a trained network as ONNX graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    model: Annotated[Path, typer.Argument(help="Directory of a saved model, for example llada-rec.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the graphs go; beside the model if left out.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Export a model for ONNX Runtime and OpenVINO.      Example: sidrec export runs/model --out runs/graphs"""
    from sidrec.cli import console
    from sidrec.cli.recommend_verb import graphs_beside
    from sidrec.core.errors import SettingsError
    from sidrec.models.capabilities import Exports
    from sidrec.models.registry import load_model

    loaded = load_model(model)
    if not isinstance(loaded, Exports):
        raise SettingsError(f"{model}: is a {loaded.key} model, which has no graphs to export.")
    out = loaded.export(out or graphs_beside(model), console.progress())
    if json:
        console.show_json({"model": str(model), "out": str(out), "graphs": sorted(f.name for f in out.glob("*.onnx"))})
        return
    history = ",".join(f'"{item_id}"' if "," in item_id else item_id for item_id in loaded.catalog.item_ids[:2])
    console.wrote(out, console.command("recommend", model, "--engine", "onnx", "--graphs", out, "--history", history))

"""What a run was: its plan and its cells with every setting, as they were when it began.

Recipes and the registry change; a run that is read back, or goes on in another process, must not change with them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sidrec.core.artifacts import write_json
from sidrec.core.errors import ArtifactError
from sidrec.models.registry import find_model
from sidrec.pipeline.benchmark.cells import Cell, Places
from sidrec.pipeline.benchmark.plan import Plan
from sidrec.pipeline.recipes import Recipe
from sidrec.pipeline.stages import model_stage


def write_run(places: Places, plan: Plan, cells: Sequence[Cell]) -> None:
    """The plan, with every row by name, and its cells."""
    write_json(places.cells, [_plain(cell) for cell in cells])
    write_json(places.plan, plan.with_named_rows().model_dump(mode="json"))


def read_plan_of(places: Places) -> Plan:
    """The plan a benchmark was run with."""
    return Plan.parse(_read(places.plan, places.out, dict), owner="a plan", where=str(places.plan))


def read_cells_of(places: Places) -> list[Cell]:
    """Its cells, with the settings they had then."""
    try:
        return [_cell(values, places.cells) for values in _read(places.cells, places.out, list)]
    except (KeyError, TypeError):
        raise ArtifactError(_damaged(places.cells)) from None


def _plain(cell: Cell) -> dict[str, Any]:
    recipe = {"key": cell.recipe.key, "values": cell.recipe.values, "where": cell.recipe.where}
    names = {"section": cell.section, "label": cell.label, "dataset": cell.dataset, "seed": cell.seed}
    return {**names, "recipe": recipe, "search": cell.search, "exclude_seen": cell.exclude_seen}


def _cell(values: dict[str, Any], file: Path) -> Cell:
    recipe, dataset = Recipe(**values["recipe"]), values["dataset"]
    settings = find_model(recipe.key).settings(recipe.values, where=str(file))
    stage = model_stage(dataset, recipe.key, settings, values["seed"])
    seen, search = bool(values.get("exclude_seen", False)), values["search"]
    return Cell(values["section"], values["label"], dataset, values["seed"], recipe, search, stage, seen)


def _read(path: Path, out: Path, kind: type) -> Any:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise ArtifactError(f"{out}: holds no benchmark; make one with `sidrec benchmark PLAN.toml`.") from None
    except (ValueError, RecursionError):
        raise ArtifactError(_damaged(path)) from None
    if not isinstance(found, kind):
        raise ArtifactError(_damaged(path))
    return found


def _damaged(path: Path) -> str:
    return f"{path}: is damaged; run the benchmark again, finished cells are kept."

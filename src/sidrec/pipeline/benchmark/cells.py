"""The cells of a plan: one row of one section on one data set with one seed, with everything settled beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidrec.core.errors import SettingsError
from sidrec.core.settings import Settings, merge
from sidrec.core.stages import Stage, named
from sidrec.models.ingredients import Data, TrainedModel, is_saved
from sidrec.models.registry import ModelRow, find_model
from sidrec.pipeline.benchmark.plan import Plan, Section, Variant, slug
from sidrec.pipeline.benchmark.scales import fitting, with_tokenizer
from sidrec.pipeline.recipes import Recipe, bundled_recipes, read_recipe, said_at, vectors_named, within
from sidrec.pipeline.stages import model_stage

SEARCH, TOKENIZE, EMBEDDING = "search", "tokenize", "embedding"
_OF_TEXT = ("encoder", "fields", "max_tokens")
DEFAULTS = "defaults"


@dataclass(frozen=True)
class Cell:
    """`recipe` holds all settings of the model; `search` (where the model has one) is how it is judged."""

    section: str
    label: str
    dataset: str
    seed: int
    recipe: Recipe
    search: Mapping[str, Any] | None
    stage: TrainedModel
    """The model and what it needs; cells with equal ones share it."""
    exclude_seen: bool = False
    """Whether it is judged without the users' own items."""

    @property
    def name(self) -> str:
        return cell_name(self.section, self.dataset, self.label, self.seed)

    @property
    def judged_name(self) -> str:
        """Cells with equal names share one evaluation."""
        name = self.stage.name if self.search is None else named(self.stage.name, {SEARCH: self.search})
        return f"{name}-unseen" if self.exclude_seen else name


@dataclass(frozen=True)
class Places:
    """Where everything of a benchmark lies."""

    out: Path

    @property
    def plan(self) -> Path:
        return self.out / "plan.json"

    def data(self, dataset: str) -> Path:
        return self.of(Data(dataset))

    def of(self, stage: Stage[Any]) -> Path:
        return self.out / stage.room / stage.name

    def inside(self, path: Path) -> str:
        """A path as records name it."""
        return path.relative_to(self.out).as_posix()

    def evaluation(self, cell: Cell, split: str) -> Path:
        return self.out / "evaluations" / f"{cell.judged_name}-{split}"

    @property
    def cells(self) -> Path:
        return self.out / "cells.json"

    def record(self, cell: Cell) -> Path:
        return self.record_of(cell.name)

    def record_of(self, name: str) -> Path:
        return self.out / "cells" / f"{name}.json"


def cell_name(section: str, dataset: str, label: str, seed: int) -> str:
    return f"{section}/{dataset}/{slug(label)}-seed{seed}"


def cells_of(plan: Plan) -> list[Cell]:
    """Every cell in the plan's order; all wrong names and settings are reported at once, before anything runs."""
    cells, problems = [], []
    for section in plan.section:
        for dataset in plan.datasets:
            for row in section.rows():
                try:
                    cells += [_cell(plan, section, dataset, row, seed) for seed in plan.seeds_of(section, row)]
                except SettingsError as error:
                    problems += str(error).split("\n")
    if problems:
        raise SettingsError("\n".join(dict.fromkeys(problems)))
    return cells


def _cell(plan: Plan, section: Section, dataset: str, row: Variant, seed: int) -> Cell:
    where = f"section {section.name}, {row.label}"
    model, base = _model(row.model, where), _recipe(plan, dataset, row)
    cls = model.load_class().settings_class
    values, judged = _values(plan, section, dataset, row, seed)
    settings = model.settings(values, where=where)
    canonical = settings.model_dump(mode="json")
    search = None
    if SEARCH in cls.model_fields:
        tried = model.settings(merge(canonical, {SEARCH: judged}), where=where)
        search = tried.model_dump(mode="json")[SEARCH]
    recipe = Recipe(row.model, canonical, base.where)
    stage = model_stage(dataset, row.model, settings, seed)
    return Cell(section.name, row.label, dataset, seed, recipe, search, stage, plan.leaves_out_seen(section))


def _values(
    plan: Plan, section: Section, dataset: str, row: Variant, seed: int
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """All that is said about a row's model, and how it searches when it is judged."""
    where = f"section {section.name}, {row.label}"
    model, base = _model(row.model, where), _recipe(plan, dataset, row)
    cls, training = model.load_class().settings_class, plan.training_of(section)
    if training == "recipe" and base.where == DEFAULTS and "training" in cls.model_fields:
        raise SettingsError(f"{where}: there is no recipe {_bundled(plan, dataset, row)}; name one with recipe = FILE.")
    over = merge(section.set, row.set)
    judged = over.pop(SEARCH, {}) if SEARCH in cls.model_fields else {}
    if training == "recipe":
        values = merge(base.values, over)
    else:
        budget = plan.agreed_budget
        if training == "own-epochs" and "epochs" in base.values.get("training", {}):
            budget = budget.in_minutes()
        values = merge(_base_values(plan, merge(model.defaults, base.values), cls, over), budget.values(cls))
    if "training" in cls.model_fields:
        values = merge(values, {"training": {"seed": seed}})
    if TOKENIZE in cls.model_fields and plan.tokenizer_seed == "each":
        values = merge(values, {TOKENIZE: {"options": {"seed": seed}}})
    for place, said in vectors_named(merge(model.defaults, values)).items():
        given = said if training == "recipe" else said_at(over, place)
        source = _with_source(plan, section, dataset, said, given.get("model_settings", {}))
        values = {**values, EMBEDDING: source} if place == (EMBEDDING,) else merge(values, within(place, source))
    return values, judged


def _with_source(
    plan: Plan, section: Section, dataset: str, embedding: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """A model whose item vectors are taken is trained as a row of this section would be, once for all seeds.

    It comes instead of an encoder that scale or recipe chose for all.
    """
    source = embedding["from_model"]
    kept = {name: value for name, value in embedding.items() if name not in _OF_TEXT}
    if is_saved(source):
        return kept
    plain, _ = _values(
        plan, section.model_copy(update={"set": {}}), dataset, Variant(label=source, model=source), plan.seeds[0]
    )
    settings = find_model(source).settings(merge(plain, given), where=f"{source} for vectors")
    return {**kept, "model_settings": settings.model_dump(mode="json")}


def _base_values(plan: Plan, recipe: Mapping[str, Any], cls: type[Settings], over: Mapping[str, Any]) -> dict[str, Any]:
    """The scale's defaults, the recipe, the scale, the plan and the row, each over the one before.

    A recipe's options are those of its own tokenizer: where a row chooses another, only what that one knows is kept.
    """
    values = merge(fitting(cls, plan.size.defaults), recipe)
    options: Mapping[str, Any] = {}
    if isinstance(values.get(TOKENIZE), Mapping):
        tokenize = dict(values[TOKENIZE])
        options = tokenize.pop("options", {})
        values = {**values, TOKENIZE: tokenize}
    values = merge(values, fitting(cls, plan.size.settings))
    values = merge(merge(values, fitting(cls, plan.settings)), over)
    return with_tokenizer(cls, values, merge(options, plan.size.tokenizer))


def _recipe(plan: Plan, dataset: str, row: Variant) -> Recipe:
    """The named recipe, or the bundled one for this data set and model, or the model's defaults."""
    if row.recipe is not None:
        return read_recipe(row.recipe, row.model)
    bundled = _bundled(plan, dataset, row)
    return read_recipe(bundled, row.model) if bundled in bundled_recipes() else Recipe(row.model, {}, DEFAULTS)


def _bundled(plan: Plan, dataset: str, row: Variant) -> str:
    return f"{plan.datasets[dataset].recipes or dataset}/{row.model}"


def _model(key: str, where: str) -> ModelRow:
    try:
        return find_model(key)
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from None

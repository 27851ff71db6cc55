"""The cells of a plan: one row of one section on one data set with one seed, with everything settled beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sidrec.core.artifacts import Origin
from sidrec.core.errors import SettingsError
from sidrec.core.settings import Settings, merge
from sidrec.embeddings.embed import EmbeddingSettings
from sidrec.embeddings.encoders import GIVEN
from sidrec.models.capabilities import HasSemanticIds
from sidrec.models.registry import ModelRow, find_model
from sidrec.pipeline.benchmark.plan import Plan, Section, Variant, slug
from sidrec.pipeline.benchmark.scales import fitting, with_tokenizer
from sidrec.pipeline.recipes import Recipe, bundled_recipes, read_recipe
from sidrec.sids.tokenize import TokenizeSettings

SEARCH, TOKENIZE = "search", "tokenize"
DEFAULTS = "defaults"


@dataclass(frozen=True)
class SidsRequest:
    """Semantic IDs that several models share."""

    dataset: str
    embedding: EmbeddingSettings
    tokenize: TokenizeSettings

    @property
    def embedding_name(self) -> str:
        return _named(f"{self.dataset}-{slug(self.embedding.encoder)}", self.embedding.method_values())

    @property
    def name(self) -> str:
        values = {"embedding": self.embedding_name, **self.tokenize.method_values()}
        return _named(f"{self.dataset}-{self.tokenize.tokenizer}", values)


@dataclass(frozen=True)
class Cell:
    """`recipe` holds all settings of the model; `search` (where the model has one) is how it is judged."""

    section: str
    label: str
    dataset: str
    seed: int
    recipe: Recipe
    search: Mapping[str, Any] | None
    sids: SidsRequest | None

    @property
    def name(self) -> str:
        return cell_name(self.section, self.dataset, self.label, self.seed)

    @cached_property
    def model_name(self) -> str:
        """Cells with equal names share one trained model: the same method within the same minutes."""
        minutes = self.recipe.values.get("training", {}).get("minutes")
        values = {"settings": self._settings().method_values(), "minutes": minutes}
        return _named(f"{self.dataset}-{self.recipe.key}-seed{self.seed}", values)

    def _settings(self) -> Settings:
        return find_model(self.recipe.key).settings(self.recipe.values, where=self.recipe.where)

    @property
    def judged_name(self) -> str:
        """Cells with equal names share one evaluation."""
        return self.model_name if self.search is None else _named(self.model_name, {SEARCH: self.search})


@dataclass(frozen=True)
class Places:
    """Where everything of a benchmark lies."""

    out: Path

    @property
    def plan(self) -> Path:
        return self.out / "plan.json"

    def data(self, dataset: str) -> Path:
        return self.out / "data" / dataset

    def embeddings(self, request: SidsRequest) -> Path:
        return self.out / "embeddings" / request.embedding_name

    def sids(self, request: SidsRequest) -> Path:
        return self.out / "sids" / request.name

    def model(self, cell: Cell) -> Path:
        return self.out / "models" / cell.model_name

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
                    cells += [_cell(plan, section, dataset, row, seed) for seed in plan.seeds]
                except SettingsError as error:
                    problems += str(error).split("\n")
    if problems:
        raise SettingsError("\n".join(dict.fromkeys(problems)))
    return cells


def _cell(plan: Plan, section: Section, dataset: str, row: Variant, seed: int) -> Cell:
    where = f"section {section.name}, {row.label}"
    model = _model(row.model, where)
    cls = model.load_class().settings_class
    base = _recipe(plan, dataset, row)
    training = plan.training_of(section)
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
    settings = model.settings(values, where=where)
    canonical = settings.model_dump(mode="json")
    search = None
    if SEARCH in cls.model_fields:
        tried = model.settings(merge(canonical, {SEARCH: judged}), where=where)
        search = tried.model_dump(mode="json")[SEARCH]
    recipe = Recipe(row.model, canonical, base.where)
    return Cell(section.name, row.label, dataset, seed, recipe, search, sids_of(dataset, row.model, settings))


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


def sids_of(dataset: str, key: str, settings: Settings) -> SidsRequest | None:
    """Models that embed and tokenize by these two settings can share the result; others make their own."""
    shares = issubclass(find_model(key).load_class(), HasSemanticIds)
    embedding, tokenize = getattr(settings, "embedding", None), getattr(settings, "tokenize", None)
    if not (shares and isinstance(embedding, EmbeddingSettings) and isinstance(tokenize, TokenizeSettings)):
        return None
    tokenize.build()
    if embedding.encoder == GIVEN and embedding.vectors is None:
        return None
    return SidsRequest(dataset, embedding, tokenize)


def _named(words: str, values: Mapping[str, Any]) -> str:
    """Readable words and a short hash of the values."""
    return f"{words}-{Origin('name', values).fingerprint[:8]}"

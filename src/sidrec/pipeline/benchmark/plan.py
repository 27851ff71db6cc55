"""Plans: which models, on which data, with which seeds and budget, asked which questions; a TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sidrec.core.errors import SettingsError
from sidrec.core.settings import Seed, Settings, read_toml
from sidrec.data.build_dataset import PrepareSettings
from sidrec.models.registry import MODELS
from sidrec.pipeline.benchmark.budget import Budget, Training
from sidrec.pipeline.benchmark.scales import SCALES, Scale, ScaleName
from sidrec.pipeline.recipes import recipe_folders

DEMO = "demo"
BEST = "best"
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""Names that become directories."""


class DataPlan(Settings):
    """A data set: `demo` (the synthetic shop), a folder or file that `data prepare` reads, or a prepared dataset."""

    source: str
    recipes: str | None = None
    """Folder of bundled recipes for this data; default the data set's own name."""
    published: str | None = None
    """The data set of published figures that this one is; others are shown as another data set's."""
    prepare: PrepareSettings = PrepareSettings()


class Variant(Settings):
    """One row of a table."""

    label: str = Field(min_length=1)
    model: str = "llada-rec"
    recipe: str | None = None
    set: Mapping[str, Any] = {}
    """Settings laid over recipe and scale; those under `search` are used in judging only, so they share a model."""
    x: float | None = None
    """Place on the axis, where the section is a curve."""


class Section(Settings):
    """One experiment: its rows are compared with each other, above all with the baseline."""

    name: str = Field(pattern=NAME)
    title: str
    question: str = ""
    baseline: str | None = None
    """Label of the row that all others are compared with; default the first."""
    against: tuple[str, ...] = ()
    """Further rows that all are compared with in a table of its own; `best` is whichever row comes out first."""
    exclude_seen: bool | None = None
    """Whether a user's own items are left out of the candidates; default as the plan says."""
    by_target_count: bool = False
    """Also show how targets are found that the training part holds never, hardly ever, or often."""
    axis: str = ""
    """What `x` of the variants is, where the section is a curve."""
    models: Literal["all"] | tuple[str, ...] = ()
    """Registry keys, each a row under its own name; `all` takes every row of the registry."""
    variants: tuple[Variant, ...] = ()
    set: Mapping[str, Any] = {}
    """Settings that all rows of the section have in common, laid under each row's own."""
    training: Training = "budget"
    """How long and how large each row trains; `own-epochs` and `recipe` are for models of different kinds."""
    n_seeds: int | None = Field(None, ge=1)
    """How many of the plan's seeds, from the first on, its rows have; default all."""
    few_seeds: Mapping[str, Annotated[int, Field(ge=1)]] = {}
    """Rows that are too dear for that many, and how many they have."""
    published: str = ""
    """Section of the published figures; default the section's own name."""

    @model_validator(mode="after")
    def _rows_are_there(self) -> Self:
        labels = [slug(row.label) for row in self.rows()]
        if not labels:
            raise ValueError("a section needs models or variants")
        twice = {label for label in labels if labels.count(label) > 1}
        if twice:
            raise ValueError(f"two rows are called {min(twice)!r}; give them different labels")
        if self.baseline is not None and self.baseline not in [row.label for row in self.rows()]:
            raise ValueError(f"baseline {self.baseline!r} is no row of this section")
        labels = [row.label for row in self.rows()]
        for name, named in (("against", [one for one in self.against if one != BEST]), ("few_seeds", self.few_seeds)):
            unknown = [label for label in named if label not in labels]
            if unknown:
                raise ValueError(f"{name} names {unknown[0]!r}, which is no row of this section")
        return self

    def rows(self) -> tuple[Variant, ...]:
        keys = tuple(row.key for row in MODELS) if self.models == "all" else self.models
        return tuple(Variant(label=key, model=key) for key in keys) + self.variants

    def with_named_rows(self) -> Section:
        """The same with today's registry written out, so that it means the same tomorrow."""
        return self.model_copy(update={"models": tuple(row.key for row in MODELS)}) if self.models == "all" else self

    @property
    def compared_with(self) -> str:
        return self.baseline or self.rows()[0].label


class Plan(Settings):
    """A benchmark; `settings` are laid over every model that has them."""

    title: str
    scale: ScaleName = "small"
    seeds: tuple[Seed, ...] = Field((0,), min_length=1)
    tokenizer_seed: Literal["each", "first"] = "each"
    """`each`: a seed redoes the tokenizer too, so that intervals over seeds hold its luck. `first`: all seeds share the
    IDs that their recipe makes, which is cheaper and tells of training alone."""
    processes: int = Field(1, ge=1)
    ks: tuple[Annotated[int, Field(ge=1)], ...] = Field((1, 5, 10), min_length=1)
    exclude_seen: bool = False
    budget: Budget | None = None
    """Default: the scale's."""
    settings: Mapping[str, Any] = {}
    datasets: Mapping[Annotated[str, Field(pattern=NAME)], DataPlan] = Field(min_length=1)
    section: tuple[Section, ...] = Field(min_length=1)

    @property
    def size(self) -> Scale:
        return SCALES[self.scale]

    @property
    def agreed_budget(self) -> Budget:
        return self.budget or self.size.budget

    def training_of(self, section: Section) -> Training:
        """What a section's rows train by. Own epochs need minutes to hold on to; a budget of the plan comes first."""
        if section.training == "own-epochs" and (self.budget is not None or self.size.budget.minutes is None):
            return "budget"
        return section.training

    def seeds_of(self, section: Section, row: Variant) -> tuple[int, ...]:
        """The seeds that a row is trained with."""
        return self.seeds[: section.few_seeds.get(row.label, section.n_seeds or len(self.seeds))]

    def leaves_out_seen(self, section: Section) -> bool:
        """Whether a section's users can be recommended what they had."""
        return self.exclude_seen if section.exclude_seen is None else section.exclude_seen

    def with_named_rows(self) -> Plan:
        return self.model_copy(update={"section": tuple(section.with_named_rows() for section in self.section)})

    def refuse_idle_budget(self) -> None:
        """For a budget that was asked for beside the plan: one that some section would not heed is refused.

        What a plan's own file says is meant for its other sections.
        """
        deaf = [section.name for section in self.section if section.training == "recipe"]
        if self.budget is not None and deaf:
            raise SettingsError(
                f"section {deaf[0]} trains every model exactly as its recipe says, so a budget of epochs or minutes "
                "means nothing to it; leave the budget out, or choose other sections.",
                arguments=("epochs", "minutes", "section"),
            )

    def budget_words(self, section: Section) -> str:
        return self.agreed_budget.words(self.training_of(section))

    def budgets_in_words(self) -> str:
        """Every budget that some section has."""
        return "; ".join(dict.fromkeys(self.budget_words(section) for section in self.section))

    @model_validator(mode="after")
    def _names_are_different(self) -> Self:
        names = [section.name for section in self.section]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"two sections are called {min(twice)!r}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("a seed is named twice, which would count one run as two")
        return self


def read_plan(path: Path, changes: Mapping[str, Any] | None = None, data: Mapping[str, str] | None = None) -> Plan:
    """The plan of a file or of a name; `changes` replace its values (scale, seeds, ...), `data` its data sets' places.

    A data set that the plan does not have is added where its place exists, so that an own one can be named. Sources are
    relative to the plan; `include = [FILE, ...]` takes over the sections of other plans.
    """
    path = find_plan(Path(path))
    values = {**read_toml(path), **(changes or {})}
    included = [_sections(path.parent / name) for name in _strings(values.pop("include", []), path)]
    values["section"] = [*values.get("section", []), *(section for group in included for section in group)]
    values["datasets"] = _datasets(values.get("datasets", {}), dict(data or {}), path)
    return Plan.parse(values, owner="a plan", where=str(path))


def find_plan(path: Path) -> Path:
    """A file, or the name of a bundled plan such as `smoke`."""
    if path.suffix == ".toml" or path.is_file():
        return path
    places = [folder / "experiments" for folder in recipe_folders()]
    for folder in places:
        if (folder / f"{path}.toml").is_file():
            return folder / f"{path}.toml"
    known = sorted({file.stem for folder in places for file in folder.glob("*.toml")})
    words = f"no such plan; give a TOML file, or one of: {', '.join(known)}."
    raise SettingsError(f"{path}: {words}", arguments=("plan",))


def only_sections(plan: Plan, names: Sequence[str]) -> Plan:
    """The plan with some of its sections."""
    known = [section.name for section in plan.section]
    unknown = [name for name in names if name not in known]
    if unknown:
        words = f"{unknown[0]}: the plan has no such section; it has: {', '.join(known)}."
        raise SettingsError(words, arguments=("section",))
    return plan.model_copy(update={"section": tuple(part for part in plan.section if part.name in names)})


def _sections(path: Path) -> list[Any]:
    found = read_toml(path).get("section", [])
    return found if isinstance(found, list) else [found]


def _strings(names: Any, path: Path) -> list[str]:
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return names
    raise SettingsError(f'{path}: include is a list of plan files, for example include = ["lambda.toml"]')


def _datasets(given: Any, moved: dict[str, str], path: Path) -> dict[str, Any]:
    """Every data set with a source that exists, from the file or from `moved`."""
    if not isinstance(given, Mapping):
        raise SettingsError(f'{path}: datasets is a table of names, for example [datasets] demo = "demo"')
    unknown = [name for name in moved if name not in given and not Path(moved[name]).exists()]
    if unknown:
        known = ", ".join(given) or "none"
        words = f"{unknown[0]}: the plan has no such data set (it has: {known}), and {moved[unknown[0]]} is not there."
        raise SettingsError(words, arguments=("data",))
    found = {}
    for name, value in {**given, **{name: "" for name in moved if name not in given}}.items():
        plain = {"source": value} if isinstance(value, str) else dict(value)
        source = str(plain.get("source", ""))
        if name in moved:
            source = moved[name] if moved[name] == DEMO else str(Path(moved[name]).resolve())
        elif source and source != DEMO:
            source = str((path.parent / source).resolve())
        if source and source != DEMO and not Path(source).exists():
            words = f"data set {name}: {source} is not there; say where it is, as {name}=PATH."
            raise SettingsError(f"{path}: {words}", arguments=("data",))
        found[name] = {**plain, "source": source} if source else plain
    return found


def parse_data(options: Sequence[str]) -> dict[str, str]:
    """`NAME=PATH` options as places of data sets."""
    found = {}
    for text in options:
        name, equals, place = text.partition("=")
        if not (equals and name and place):
            words = "write a data set as NAME=PATH, for example scientific=runs/data."
            raise SettingsError(f"{text}: {words}", arguments=("data",))
        found[name] = place
    return found


def slug(text: str) -> str:
    """A label as part of a file name."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") or "row"

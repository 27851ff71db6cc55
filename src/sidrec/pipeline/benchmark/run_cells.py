"""The stages of a cell: prepare, embed, tokenize, train, evaluate; each an artefact that is found when finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidrec.core.artifacts import MANIFEST, Origin, ensure, open_artifact
from sidrec.core.errors import SidrecError
from sidrec.core.progress import Progress
from sidrec.core.replacing import replacing
from sidrec.data.dataset import Dataset, Split
from sidrec.data.prepare import find_source, prepare
from sidrec.evaluation.evaluate import evaluate_into
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import KIND, Evaluation
from sidrec.models.base import Recommender
from sidrec.models.capabilities import Searches
from sidrec.pipeline.benchmark.cells import Cell, Places
from sidrec.pipeline.benchmark.plan import DEMO, Plan
from sidrec.pipeline.benchmark.records import CellRecord
from sidrec.pipeline.demo import DemoSize, prepare_shop
from sidrec.pipeline.sample import sample_users
from sidrec.pipeline.train import train

SPLITS: tuple[Split, Split] = ("test", "validation")


@replacing()  # the folders of a benchmark follow its plan
def prepare_data(plan: Plan, name: str, places: Places, progress: Progress) -> None:
    """The data set at the plan's scale: made, read, or taken as it is, and sampled down where it is larger."""
    chosen, path, size = plan.datasets[name], places.data(name), plan.size
    if chosen.source == DEMO:
        prepare_shop(path, DemoSize(*size.shop), progress)
        return
    source = Path(chosen.source)
    if not (source / MANIFEST).is_file():
        whole = places.out / "data" / f"{name}-whole"
        prepare(find_source(source), whole, chosen.prepare, progress=progress)
        source = whole
    made_from = {"dataset": open_artifact(source, "dataset").fingerprint}
    origin = Origin("dataset", settings={"sampled_users": size.users}, made_from=made_from)

    def make() -> None:
        data = Dataset.load(source)
        (data if size.users is None else sample_users(data, size.users)).save(path, origin)

    ensure(path, origin, make, lambda _: None)


def run_cells(plan: Plan, cells: Sequence[Cell], places: Places, progress: Progress) -> list[CellRecord]:
    """Train the one model that these cells share and judge it in each cell's way; one failure spares the others."""
    first = cells[0]
    sids = None if first.stage.ids is None else places.of(first.stage.ids)
    ways: dict[str, Any] = {"sids": sids, "ingredients": places.out, "progress": progress}
    model = train(places.data(first.dataset), places.of(first.stage), first.recipe, **ways).model
    data = Dataset.load(places.data(first.dataset))
    records = []
    for cell in cells:
        try:
            record = _judged(plan, cell, model, data, places, progress)
        except Exception as error:
            record = failed_record(cell, message_of(error))
        record.write(places.record(cell))
        records.append(record)
    return records


def finished_record(plan: Plan, cell: Cell, places: Places) -> CellRecord | None:
    """The record of a cell whose evaluations are there, of this data, model and protocol."""
    record = CellRecord.read(places.record(cell))
    if record is None or record.status == "failed" or not _speaks_of(record, cell, places):
        return None
    try:
        if open_artifact(places.data(cell.dataset), "dataset", verify=False).fingerprint != record.data:
            return None
        if cell.recipe.build().named_content() != record.content:
            return None
        made_from = _made_from(cell, places, record.data, verify=False)
        for split in SPLITS:
            found = open_artifact(places.evaluation(cell, split), KIND, verify=False)
            if found.fingerprint != _origin(plan, cell, split, made_from).fingerprint:
                return None
    except SidrecError:
        return None
    return replace(record, status="skipped")


def _speaks_of(record: CellRecord, cell: Cell, places: Places) -> bool:
    """Another plan in the same place may have put another model under the same name since."""
    named = (record.model, record.test, record.validation)
    return named == (places.inside(places.of(cell.stage)), *(places.inside(places.evaluation(cell, s)) for s in SPLITS))


def _made_from(cell: Cell, places: Places, dataset: str, *, verify: bool = True) -> dict[str, str]:
    return {"model": open_artifact(places.of(cell.stage), "model", verify=verify).content, "dataset": dataset}


def _settings(plan: Plan, cell: Cell, split: Split) -> EvaluationSettings:
    users = plan.size.judged_on_validation if split == "validation" else None
    return EvaluationSettings(split=split, ks=plan.ks, exclude_seen=cell.exclude_seen, users=users)


def _origin(plan: Plan, cell: Cell, split: Split, made_from: dict[str, str]) -> Origin:
    settings = _settings(plan, cell, split)
    values = {**settings.method_values(), "search": cell.search}
    return Origin(KIND, values, made_from, seed=settings.seed)


def _judged(
    plan: Plan, cell: Cell, model: Recommender, data: Dataset, places: Places, progress: Progress
) -> CellRecord:
    if cell.search is not None and isinstance(model, Searches):
        model = model.with_search(cell.search)
    made_from = _made_from(cell, places, data.fingerprint)
    found = {}
    for split in SPLITS:
        out, origin = places.evaluation(cell, split), _origin(plan, cell, split, made_from)
        found[split] = evaluate_into(out, origin, model, data, _settings(plan, cell, split), progress)
    return _record(cell, model, data, places, found)


def _record(
    cell: Cell, model: Recommender, data: Dataset, places: Places, found: dict[Split, Evaluation]
) -> CellRecord:
    test = found["test"]
    deepest = max(test.recall)
    shown = [name for name in (f"recall@{deepest}", f"ndcg@{deepest}") if name in test.metrics]

    return CellRecord(
        name=cell.name,
        section=cell.section,
        label=cell.label,
        dataset=cell.dataset,
        seed=cell.seed,
        status="done",
        data=data.fingerprint,
        model=places.inside(places.of(cell.stage)),
        sids="" if cell.stage.ids is None else places.inside(places.of(cell.stage.ids)),
        test=places.inside(places.evaluation(cell, "test")),
        validation=places.inside(places.evaluation(cell, "validation")),
        figures={name: test.metrics[name] for name in shown},
        training=model.training_summary(),
        judging_seconds=test.timing.seconds + found["validation"].timing.seconds,
        users_per_s=test.timing.users_per_s,
        recipe=cell.recipe.where,
        content=cell.recipe.build().named_content(),
    )


def failed_record(cell: Cell, message: str) -> CellRecord:
    return CellRecord(cell.name, cell.section, cell.label, cell.dataset, cell.seed, "failed", message=message)


def message_of(error: Exception) -> str:
    """One line; an error that is not a known one says its kind."""
    words = " ".join(str(error).split()) or "no further words"
    return words if isinstance(error, SidrecError) else f"{type(error).__name__}: {words}"

"""Judge a model on held-out items, in parts that survive a kill."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from sidrec.core.artifacts import Origin, ensure, open_artifact, opened, write
from sidrec.core.errors import InputError
from sidrec.core.mirroring import local
from sidrec.core.progress import Progress, SilentProgress
from sidrec.data.dataset import Cases, Dataset
from sidrec.evaluation import figures
from sidrec.evaluation.protocol import EvaluationSettings, select_cases
from sidrec.evaluation.ranks import collision_rate, rank_cases
from sidrec.evaluation.results import KIND, Evaluation, Timing
from sidrec.evaluation.view import View
from sidrec.metrics.ranking import recall_at
from sidrec.models.base import Recommender
from sidrec.models.model_files import data_path
from sidrec.models.registry import load_model

PARTS = "parts"
_SECONDS = "seconds"


def evaluate(
    model: Recommender,
    data: Dataset,
    settings: EvaluationSettings | None = None,
    *,
    parts: Path | None = None,
    progress: Progress | None = None,
    view: View | None = None,
) -> Evaluation:
    """Rank the held-out item of every user; with `parts`, finished parts are kept there and not ranked again.

    `view` is how the model sees the data, where the caller has looked already.
    """
    settings = settings or EvaluationSettings()
    view = view or View.of(model, data)
    every, cases = judged_cases(view, settings)
    found, seconds, hits, done = [], 0.0, 0.0, 0
    with (progress or SilentProgress()).task(f"evaluating {model.key}", total=len(cases)) as task:
        for part, spent in _all_parts(model, view, cases, settings, parts):
            found.append(part)
            seconds += spent
            hits += part.height * recall_at(part["rank"].to_numpy(), settings.depth)
            done += part.height
            task.advance(part.height, **{f"recall@{settings.depth}": hits / done})  # of all users so far
    timing = Timing(seconds, len(cases) / max(seconds, 1e-9))
    result = summarise(model, data, settings, pl.concat(found, rechunk=True), timing)
    return replace(result, other_data=view.told(every, cases))


def judged_cases(view: View, settings: EvaluationSettings) -> tuple[Cases, Cases]:
    """All users that are asked about, and those of them that may be judged; there must be some."""
    every = select_cases(view.data, settings)
    if len(every) == 0:
        raise InputError(f"no user has a {settings.split} item; prepare the data with a split that leaves some.")
    cases = view.fair(every)
    if len(cases) == 0:
        words = "this model was trained on another training part of this catalogue, the held-out item of every user"
        raise InputError(f"{words} included; train it on this data.")
    return every, cases


def evaluate_saved(
    path: Path,
    data: Dataset,
    out: Path,
    settings: EvaluationSettings | None = None,
    progress: Progress | None = None,
    trained_on: Dataset | None = None,
) -> Evaluation:
    """Judge a saved model and keep the findings in `out`; finished work is not done again."""
    settings, progress = settings or EvaluationSettings(), progress or SilentProgress()
    origin = Origin(
        KIND,
        settings=settings.method_values(),
        made_from={"model": open_artifact(path, "model").content, "dataset": data.fingerprint},
        seed=settings.seed,
    )

    def judge() -> Evaluation:
        model = load_model(path)
        view = View.of(model, data, str(path), trained_on)
        return _judged_into(out, origin, model, view, settings, progress)

    return ensure(out, origin, judge, Evaluation.from_artifact, progress)


def evaluate_into(
    out: Path, origin: Origin, model: Recommender, data: Dataset, settings: EvaluationSettings, progress: Progress
) -> Evaluation:
    """Judge and keep the findings in `out`, or find them there."""

    def judge() -> Evaluation:
        return _judged_into(out, origin, model, View.of(model, data), settings, progress)

    return ensure(out, origin, judge, Evaluation.from_artifact, progress)


def _judged_into(
    out: Path, origin: Origin, model: Recommender, view: View, settings: EvaluationSettings, progress: Progress
) -> Evaluation:
    """A judgement that was cut off goes on where it stopped; one that cannot be leaves nothing behind."""
    judged_cases(view, settings)
    with write(out, origin, resumable=True) as directory:
        (directory / PARTS).mkdir(exist_ok=True)
        result = evaluate(model, view.data, settings, parts=directory / PARTS, progress=progress, view=view)
        result.write_files(directory)
        shutil.rmtree(directory / PARTS)
    return result


def training_data(path: Path) -> Path:
    """Where the data lie that a saved model was trained on, if they are still there."""
    with opened(path, "model") as artifact:
        data = data_path(artifact)
    if data is None:
        words = "does not say where its training data are; give a prepared dataset."
        raise InputError(f"{path}: {words}", arguments=("data",))
    if not local(data).exists():
        words = f"was trained on {data}, which is not there; say where it is now."
        raise InputError(f"{path}: {words}", arguments=("data",))
    return data


def summarise(
    model: Recommender, data: Dataset, settings: EvaluationSettings, ranks: pl.DataFrame, timing: Timing
) -> Evaluation:
    """Every figure from the per-user ranks."""
    return Evaluation(
        model=model.key,
        dataset=data.fingerprint,
        split=settings.split,
        exclude_seen=settings.exclude_seen,
        users=ranks.height,
        metrics=figures.metrics_of(ranks, settings.ks),
        intervals=figures.intervals_of(ranks, settings),
        rates=figures.rates_of(ranks, collision_rate(model)),
        by_history_length=figures.slices_of(ranks, "history_length", figures.LENGTHS, settings.ks),
        by_item_popularity=figures.slices_of(ranks, "target_count", figures.COUNTS, settings.ks),
        timing=timing,
        ranks=ranks,
    )


def _all_parts(
    model: Recommender, view: View, cases: Cases, settings: EvaluationSettings, folder: Path | None
) -> Iterator[tuple[pl.DataFrame, float]]:
    """Parts in user order with the seconds each took: first those on disk, then freshly ranked ones."""
    begin = 0
    while folder is not None and (kept := _read_part(folder, begin)) is not None:
        yield kept
        begin += kept[0].height
    while begin < len(cases):
        rows = np.arange(begin, min(begin + settings.chunk, len(cases)))
        start = time.perf_counter()
        part = rank_cases(model, view, cases.take(rows), settings)
        spent = time.perf_counter() - start
        if folder is not None:
            _write_part(folder, begin, part, spent)
        yield part, spent
        begin += len(rows)


def _write_part(folder: Path, begin: int, part: pl.DataFrame, seconds: float) -> None:
    """Complete before it gets its name, so that a part on disk is a whole part."""
    file = folder / f"{begin}.parquet"
    part.with_columns(pl.lit(seconds).alias(_SECONDS)).write_parquet(file.with_suffix(".tmp"))
    file.with_suffix(".tmp").rename(file)


def _read_part(folder: Path, begin: int) -> tuple[pl.DataFrame, float] | None:
    file = folder / f"{begin}.parquet"
    if not file.is_file():
        return None
    part = pl.read_parquet(file, glob=False)
    return part.drop(_SECONDS), float(part[_SECONDS][0])

"""Recommendations for millions of users: parquet to parquet, a bounded number of users at a time, killed or not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict, Unpack

from sidrec.core.errors import InputError
from sidrec.core.mirroring import local, refresh
from sidrec.core.progress import Progress, SilentProgress
from sidrec.data.dataset import Dataset
from sidrec.data.item_filter import ItemFilter
from sidrec.data.readers.columns import Columns
from sidrec.data.user_histories import UserHistories
from sidrec.models.base import Recommender
from sidrec.models.content import content_of
from sidrec.pipeline.batch_job import Asked, BatchSummary, Job, Wish, answered, begun

__all__ = ["Asked", "BatchAsked", "BatchSummary", "Histories", "fill", "known_histories", "recommend_many", "wished"]


class Histories(TypedDict, total=False):
    """Where histories come from when users are named by their ids alone; default what the model was trained on."""

    interactions: Path | str | Dataset | None
    columns: Mapping[str, str] | None
    """How the interactions' columns are called: `{"user_id": "Kunde"}`."""


class BatchAsked(Asked, Histories, total=False):
    """All of it."""


def recommend_many(
    model: Recommender,
    input: Path | str,
    output: Path | str,
    *,
    titles: bool = False,
    batch_users: int = 4096,
    replace: bool = False,
    progress: Progress | None = None,
    **request: Unpack[BatchAsked],
) -> BatchSummary:
    """The k best items for every user of a table with columns `user_id` and `history`, or with ids alone.

    Histories of users that are named by their ids come from `interactions` (a prepared dataset or any file of
    interactions, whose `columns` may be named), by default from what the model was trained on. A parquet or JSONL
    output has one row per user, in the input's order: user_id, item_ids, scores, fallback, unknown_items, and `titles`
    if asked for; a CSV has a row per item. Other recommendations that stand there are replaced only with `replace`. A
    killed job goes on where it stopped when called again; the file appears when it is whole.
    """
    progress = progress or SilentProgress()
    wish = wished(model, request, titles=titles, batch_users=batch_users, replace=replace)
    with begun(wish, Path(input), Path(output), progress) as job:
        wish.tell(progress)
        if isinstance(job, BatchSummary):
            return job
        fill(job, wish, progress)
        return job.finish()


def wished(model: Recommender, request: BatchAsked, *, titles: bool, batch_users: int, replace: bool) -> Wish:
    """What is asked for, as a value; interactions are read when the first file needs them."""
    source, columns = request.get("interactions"), request.get("columns")
    known = cache(lambda: known_histories(model, source, columns))
    return Wish(model, content_of(model), _read_once(request), titles, batch_users, replace, known)


def known_histories(
    model: Recommender, source: Path | str | Dataset | None = None, columns: Mapping[str, str] | None = None
) -> UserHistories:
    """Who did what, in these interactions or in what the model was trained on."""
    if isinstance(source, Dataset):
        return UserHistories.of_dataset(source)
    if source is None and model.data_path is not None:
        refresh(model.data_path)
    if source is None and (model.data_path is None or not model.data_path.exists()):
        where = "data in memory" if model.data_path is None else f"{model.data_path}, which is not there"
        words = f"this {model.key} was trained on {where}; give the interactions of its users."
        raise InputError(words, arguments=("interactions",))
    place = model.data_path if source is None else local(source)
    assert place is not None
    return UserHistories.read(place, Columns.of(columns))


def fill(job: Job, wish: Wish, progress: Progress) -> None:
    """Every part that is not there yet, one after the other."""
    with progress.task(f"recommending with {wish.model.key}", total=len(job.users)) as task:
        begin = job.parts.n_finished
        if begin:
            progress.note(f"{job.output}: going on after {begin:,} users.")
            task.advance(begin)
        for rows in job.users.read(begin, wish.batch_users):
            job.parts.put(begin, answered(wish.model, rows, wish.asked, titles=wish.titles))
            begin += len(rows.histories)
            task.advance(len(rows.histories))


def _read_once(request: BatchAsked) -> Asked:
    """Filters as values: what the caller gave may be a generator, and every batch of users asks again."""
    allow, deny = request.get("allow"), request.get("deny")
    read: Asked = {name: request[name] for name in ("k", "exclude_seen") if name in request}  # type: ignore[assignment]
    read["allow"] = None if allow is None else ItemFilter.of(allow, "allow")
    read["deny"] = None if deny is None else ItemFilter.each(deny, "deny")
    return read

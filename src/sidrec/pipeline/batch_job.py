"""One file of a batch: who is in it, what is asked for, which parts are there, and the output when all are."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from sidrec.core.artifacts import Origin, forget_work, sha256_of, storage_errors, tidy, work_directory
from sidrec.core.errors import InputError, StorageError
from sidrec.core.locks import Held, locked
from sidrec.core.mirroring import local
from sidrec.core.progress import Progress
from sidrec.core.publishing import publish_file
from sidrec.core.replacing import may_replace, occupied
from sidrec.data.item_filter import FilterLike
from sidrec.data.user_histories import UserHistories
from sidrec.models.base import Recommender
from sidrec.models.capabilities import Exports
from sidrec.models.ranking import Recommendations
from sidrec.pipeline.batch_parts import MARK, Parts, packed
from sidrec.pipeline.recommendation_files import is_text, refuse_foreign, write_text
from sidrec.pipeline.user_files import opened_users
from sidrec.pipeline.user_table import USER_ID, UserRows, UserTable

KIND = "recommendations"


class Asked(TypedDict, total=False):
    """What `Recommender.recommend` takes beside the histories."""

    k: int
    exclude_seen: bool
    allow: FilterLike | None
    deny: FilterLike | None


@dataclass(frozen=True)
class BatchSummary:
    """What a batch job did."""

    output: Path
    users: int
    fallback: int
    """Users of whose history nothing is known: they got the most popular items."""
    unknown_items: int
    """Items of all histories that the catalogue does not have."""
    unknown_users: int
    """Users given by their ids alone of whom nothing is known."""
    seconds: float
    skipped: bool = False
    """True where the output was there already."""

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "output": str(self.output)}


def together(found: Sequence[BatchSummary], folder: Path) -> BatchSummary:
    """The files of a folder as one."""
    sums = {
        name: sum(getattr(one, name) for one in found)
        for name in ("users", "fallback", "unknown_items", "unknown_users")
    }
    seconds = max((one.seconds for one in found), default=0.0)
    return BatchSummary(folder, **sums, seconds=seconds, skipped=all(one.skipped for one in found))


@dataclass(frozen=True)
class Wish:
    """What every file of a batch is asked for."""

    model: Recommender
    content: str
    """Of the model, as a hash."""
    asked: Asked
    titles: bool
    batch_users: int
    replace: bool
    known: Callable[[], UserHistories]
    """Asked where users are named by their ids alone."""

    def __post_init__(self) -> None:
        if self.batch_users < 1:
            raise InputError(f"batch_users is {self.batch_users}; take at least one user at a time.")

    def origin(self, users: UserTable) -> Origin:
        """The job: the same origin gives the same rows, so finished parts of it may be used."""
        filters = {name: repr(self.asked.get(name)) for name in ("allow", "deny")}  # with the kinds of their values
        engine = self.model.engine if isinstance(self.model, Exports) else "torch"
        settings = {**self.asked, **filters, "titles": self.titles, "engine": engine}
        made_from = {"model": self.content, "users": sha256_of(users.path)}
        return Origin(KIND, settings=settings, made_from=made_from)

    def tell(self, progress: Progress) -> None:
        """What there is to say about the filters."""
        for note in self.model.catalog.masks.allowed(self.asked.get("allow"), self.asked.get("deny")).notes:
            progress.note(note)


@dataclass(frozen=True)
class Job:
    """An output that is not there yet, and locked for us."""

    users: UserTable
    output: Path
    origin: Origin
    parts: Parts
    lock: Held
    strangers: int
    start: float

    def finish(self) -> BatchSummary:
        """The output, when every part is there."""
        with storage_errors(self.output):
            self.lock.check()
            found = _summary(list(self.parts.files), self.output, self.start, self.strangers)
            if is_text(self.output):
                write_text(self.output, self.parts.files)
            else:
                self.parts.assemble(self.origin)
            publish_file(self.output)
            forget_work(self.output)
        return found


@contextmanager
def begun(
    wish: Wish, input: Path, output: Path, progress: Progress, *, shared: bool = False
) -> Iterator[Job | BatchSummary]:
    """The job, or the summary of an output that is there already; `shared` where other machines read the users."""
    output, start = local(output), time.perf_counter()
    text = is_text(output)
    with opened_users(local(input), wish.known, output if shared else None) as (users, strangers):
        origin = wish.origin(users)
        if _mark_of(output) == origin.fingerprint:
            tidy(output, origin)
            progress.note(f"{output}: already there, skipped.")
            yield _summary([output], output, start, strangers, skipped=True)
            return
        with locked(output) as lock, storage_errors(output):
            mark = _mark_of(output)
            if mark == origin.fingerprint:  # another writer finished it while we waited
                yield _summary([output], output, start, strangers, skipped=True)
                return
            if mark is not None and not (wish.replace or may_replace()):
                told = "of which text cannot tell whether they are these"
                other = "from another model, other users or other wishes"
                words = f"holds recommendations, {told}" if text else f"holds other recommendations, {other}"
                raise occupied(output, words)
            yield Job(users, output, origin, Parts(work_directory(output, origin), output), lock, strangers, start)


def answered(model: Recommender, rows: UserRows, asked: Asked, *, titles: bool) -> bytes:
    """Some users' part of the output, as the bytes of its file: the same wherever it is made."""
    who = [str(user) for user in rows.user_ids.to_pylist()]
    return packed(_table(rows.user_ids, model.recommend(rows.histories, users=who, **asked), titles=titles))


def _table(user_ids: pa.ChunkedArray, answer: Recommendations, *, titles: bool) -> pa.Table:
    columns = {
        USER_ID: user_ids,
        "item_ids": pa.array(answer.item_ids, pa.list_(pa.string())),
        "scores": pa.array(answer.scores, pa.list_(pa.float32())),
        "fallback": pa.array(answer.fallback, pa.bool_()),
        "unknown_items": pa.array(answer.unknown_items, pa.int32()),
    }
    if titles:
        columns["titles"] = pa.array(answer.titles, pa.list_(pa.string()))
    return pa.table(columns)


def _mark_of(output: Path) -> str | None:
    """The fingerprint of the job that wrote `output`; anything we did not write there is left alone."""
    if not output.exists():
        return None
    if is_text(output):
        refuse_foreign(output)
        return ""
    try:
        return str(json.loads(pq.read_schema(output).metadata[MARK])["fingerprint"])
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
        raise StorageError(
            f"{output}: is there and was not written by sidrec, nothing was touched; choose another place.",
            arguments=("output",),
        ) from None


def _summary(
    files: Sequence[Path], output: Path, start: float, strangers: int, *, skipped: bool = False
) -> BatchSummary:
    """Counted from the files, in pieces: so a resumed job counts its first life too."""
    users = fallback = unknown = 0
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(columns=["fallback", "unknown_items"]):
            users += batch.num_rows
            fallback += batch["fallback"].true_count
            unknown += batch["unknown_items"].to_numpy().sum(dtype=int)
    return BatchSummary(output, users, fallback, int(unknown), strangers, time.perf_counter() - start, skipped)

"""Recommendations for millions of users: parquet to parquet, a bounded number of users at a time, killed or not."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pyarrow as pa
import pyarrow.parquet as pq

from sidrec.core.artifacts import Origin, forget_work, sha256_of, storage_errors, tidy, work_directory
from sidrec.core.errors import InputError, StorageError
from sidrec.core.locks import locked
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.replacing import may_replace, occupied
from sidrec.core.storage import remove, siblings, temporary
from sidrec.data.item_filter import FilterLike, ItemFilter
from sidrec.models.base import Recommender
from sidrec.models.capabilities import Exports
from sidrec.models.content import content_of
from sidrec.models.ranking import Recommendations
from sidrec.pipeline.user_table import USER_ID, UserTable

KIND = "recommendations"
MARK = b"sidrec"
"""Key of the file's own note about what it was made from."""


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
    seconds: float
    skipped: bool = False
    """True where the output was there already."""

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "output": str(self.output)}


def recommend_many(
    model: Recommender,
    input: Path | str,
    output: Path | str,
    *,
    titles: bool = False,
    batch_users: int = 4096,
    replace: bool = False,
    progress: Progress | None = None,
    **request: Unpack[Asked],
) -> BatchSummary:
    """The k best items for every row of a parquet file with columns `user_id` and `history` (a list of item ids).

    The output has one row per user, in the input's order: user_id, item_ids, scores, fallback, unknown_items, and
    `titles` if asked for. Other recommendations that stand there are replaced only with `replace`. A killed job goes on
    where it stopped when called again; the file appears when it is whole.
    """
    if batch_users < 1:
        raise InputError(f"batch_users is {batch_users}; take at least one user at a time.")
    progress, output, start = progress or SilentProgress(), Path(output), time.perf_counter()
    users = UserTable.open(Path(input))
    request = _read_once(request)
    origin = _origin(model, users, request, titles=titles)
    for note in model.catalog.masks.allowed(request.get("allow"), request.get("deny")).notes:
        progress.note(note)
    if _mark_of(output) == origin.fingerprint:
        tidy(output, origin)
        progress.note(f"{output}: already there, skipped.")
        return _summary(output, start, skipped=True)
    with locked(output) as lock, storage_errors(output):
        if _mark_of(output) == origin.fingerprint:  # another writer finished it while we waited
            return _summary(output, start, skipped=True)
        if _mark_of(output) is not None and not (replace or may_replace()):
            raise occupied(output, "holds other recommendations, from another model, other users or other wishes")
        parts = _Parts(work_directory(output, origin))
        with progress.task(f"recommending with {model.key}", total=len(users)) as task:
            begin = parts.n_finished
            if begin:
                progress.note(f"{output}: going on after {begin:,} users.")
                task.advance(begin)
            for rows in users.read(begin, batch_users):
                who = [str(user) for user in rows.user_ids.to_pylist()]
                answer = model.recommend(rows.histories, users=who, **request)
                parts.write(begin, _table(rows.user_ids, answer, titles=titles))
                begin += len(rows.histories)
                task.advance(len(rows.histories))
        lock.check()
        parts.assemble(output, origin)
    return _summary(output, start)


def _read_once(request: Asked) -> Asked:
    """Filters as values: what the caller gave may be a generator, and every batch of users asks again."""
    allow, deny = request.get("allow"), request.get("deny")
    read = request.copy()
    read["allow"] = None if allow is None else ItemFilter.of(allow, "allow")
    read["deny"] = None if deny is None else ItemFilter.each(deny, "deny")
    return read


def _origin(model: Recommender, users: UserTable, request: Asked, *, titles: bool) -> Origin:
    """The job: the same origin gives the same rows, so finished parts of it may be used."""
    filters = {name: repr(request.get(name)) for name in ("allow", "deny")}  # with the kinds of their values
    engine = model.engine if isinstance(model, Exports) else "torch"
    settings = {**request, **filters, "titles": titles, "engine": engine}
    made_from = {"model": content_of(model), "users": sha256_of(users.path)}
    return Origin(KIND, settings=settings, made_from=made_from)


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


@dataclass(frozen=True)
class _Parts:
    """Finished parts of a job, each named after its first row; a part on disk is a whole part."""

    folder: Path

    @property
    def files(self) -> Iterator[Path]:
        """In the order of their rows, up to the first gap."""
        begin = 0
        while (file := self.folder / f"{begin}.parquet").is_file():
            yield file
            begin += pq.read_metadata(file).num_rows

    @property
    def n_finished(self) -> int:
        return sum(pq.read_metadata(file).num_rows for file in self.files)

    def write(self, begin: int, table: pa.Table) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{begin}.parquet"
        _write_whole(file, [table], table.schema)

    def assemble(self, output: Path, origin: Origin) -> None:
        """One file out of all parts, a part in memory at a time; then the parts are no longer needed."""
        mark = {"fingerprint": origin.fingerprint, "made_from": origin.made_from, "settings": origin.settings}
        files = list(self.files)
        schema = pq.read_schema(files[0]).with_metadata({MARK: json.dumps(mark, default=str).encode()})
        _write_whole(output, (pq.read_table(file) for file in files), schema)
        forget_work(output)


def _write_whole(file: Path, tables: Any, schema: pa.Schema) -> None:
    """Complete and on the disk before it gets its name; the caller holds the lock, so others like it are left-overs."""
    for stale in siblings(file, "tmp"):
        remove(stale)
    unfinished = temporary(file)
    with unfinished.open("wb") as sink:
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table.replace_schema_metadata(schema.metadata))
        sink.flush()
        os.fsync(sink.fileno())
    unfinished.replace(file)


def _mark_of(output: Path) -> str | None:
    """The fingerprint of the job that wrote `output`; anything we did not write there is left alone."""
    if not output.exists():
        return None
    try:
        return str(json.loads(pq.read_schema(output).metadata[MARK])["fingerprint"])
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
        raise StorageError(
            f"{output}: is there and was not written by sidrec, nothing was touched; choose another place.",
            arguments=("output",),
        ) from None


def _summary(output: Path, start: float, *, skipped: bool = False) -> BatchSummary:
    """Counted from the file, in pieces: so a resumed job counts its first life too."""
    users = fallback = unknown = 0
    for batch in pq.ParquetFile(output).iter_batches(columns=["fallback", "unknown_items"]):
        users += batch.num_rows
        fallback += batch["fallback"].true_count
        unknown += batch["unknown_items"].to_numpy().sum(dtype=int)
    return BatchSummary(output, users, fallback, int(unknown), time.perf_counter() - start, skipped)

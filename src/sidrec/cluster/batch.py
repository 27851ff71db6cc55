"""Batch work on Ray: actors that hold the model or the encoder answer pieces of the files; the driver writes.

A piece is what the local way would compute at a time, so the parts, and the files made of them, are the same bytes.
Actors that die are replaced and their pieces computed again; what came back is on disk in the job's work directory.
"""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sidrec.cluster.refusals import again, told
from sidrec.cluster.session import ray_session
from sidrec.core.errors import InputError, SettingsError, SidrecError
from sidrec.core.mirroring import local
from sidrec.core.places import everywhere
from sidrec.core.progress import Progress
from sidrec.core.storage import sha256_of
from sidrec.embeddings.base import EncoderState
from sidrec.embeddings.embed import encoder_of
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models.content import content_of
from sidrec.pipeline.batch_job import Asked, Job, Wish, answered
from sidrec.pipeline.user_reader import UserReader

if TYPE_CHECKING:
    from sidrec.models.base import Recommender

TRIES = 4
"""How often a piece is tried whose actors die."""
AT_A_TIME = 256
"""Files that are open at once: each has a lock, and all share the actors."""
Row = dict[str, Any]
Batch = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Actors:
    """How many actors of one processor each (None: as many as there are), and the cluster they come from."""

    workers: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise SettingsError(f"{self.workers} workers do nothing; give at least one.", arguments=("workers",))

    def filling(self, load: Callable[[], Recommender]) -> tuple[Callable[..., Iterator[Job]], int]:
        """How `recommend_files` makes its parts here; `load` gives each actor the model, from where all nodes see it.

        Given by its name and arguments (a function of a module, `partial`): that is what is sent around.
        """

        def fill(jobs: Sequence[Job], wish: Wish, progress: Progress) -> Iterator[Job]:
            how = {"load": load, "content": wish.content, "asked": wish.asked, "titles": wish.titles}
            return self._fill(jobs, wish, how, progress)

        return fill, AT_A_TIME

    def _fill(self, jobs: Sequence[Job], wish: Wish, how: Row, progress: Progress) -> Iterator[Job]:
        pieces = list(_pieces(jobs, wish.batch_users))
        left = Counter(piece["job"] for piece in pieces)
        yield from (job for number, job in enumerate(jobs) if not left[number])
        total = sum(len(job.users) for job in jobs)
        with progress.task(f"recommending with {wish.model.key} on Ray", total=total) as task:
            task.advance(total - sum(piece["rows"] for piece in pieces))
            for answer in self._mapped(pieces, _Answering, how):
                number = int(answer["job"])
                jobs[number].parts.put(int(answer["begin"]), answer["part"])
                task.advance(int(answer["rows"]))
                left[number] -= 1
                if not left[number]:
                    yield jobs[number]

    def encode(
        self, settings: EmbeddingSettings, state: EncoderState | None, pieces: Sequence[tuple[int, list[str]]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """`elsewhere` of `embed_catalog`: blocks of texts, encoded by actors."""
        rows = [{"block": block, "texts": texts} for block, texts in pieces]
        for row in self._mapped(rows, _Encoding, {"settings": settings, "state": state}):
            yield int(row["block"]), np.frombuffer(row["vectors"], np.float32).reshape(-1, int(row["width"])).copy()

    def _mapped(self, rows: list[Row], kind: type, arguments: Row) -> Iterator[Row]:
        """Every row through an actor; one row is one block, so that what an actor died over is one row."""
        if not rows:
            return
        with ray_session(self.address, max(self.workers or 1, os.cpu_count() or 1)) as ray:
            from ray import data

            _settle(data.DataContext.get_current())
            workers = self.workers or int(ray.cluster_resources().get("CPU", 1))
            numbered = [{**row, "piece": piece} for piece, row in enumerate(rows)]
            given = data.from_items(numbered, override_num_blocks=len(rows))
            tally = ray.remote(num_cpus=0)(_Tally).remote()
            made = given.map_batches(
                kind,
                fn_constructor_kwargs={"tally": tally, **arguments},
                batch_size=1,
                batch_format="numpy",
                compute=data.ActorPoolStrategy(size=min(workers, len(rows))),
                num_cpus=1,
            )
            for row in made.iter_rows():
                if row["refused"]:
                    raise again(row["refused"])
                yield row


class _Tally:
    """Counts how often each piece was begun: Ray Data would start an actor that dies over it again without end."""

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, piece: int) -> int:
        self._begun[piece] += 1
        return self._begun[piece]


class _Actor(ABC):
    """What a user can cause is an answer, too: Ray would say it in its own words, or try again."""

    def __init__(self, tally: Any, **arguments: Any) -> None:
        self._tally, self._refused = tally, ""
        try:
            self.begin(**arguments)
        except SidrecError as error:
            self._refused = told(error)

    def __call__(self, batch: Batch) -> Row:
        if self._refused:
            return {"refused": [self._refused]}
        try:
            self._refuse_deadly(int(batch["piece"][0]))
            return {**self.answer(batch), "refused": [""]}
        except SidrecError as error:
            return {"refused": [told(error)]}

    def _refuse_deadly(self, piece: int) -> None:
        import ray

        if ray.get(self._tally.begin.remote(piece)) > TRIES:
            words = "perhaps they had too little memory. What is finished is kept; the same command goes on."
            raise SidrecError(f"{TRIES} workers died over the same piece; {words}")

    @abstractmethod
    def begin(self, *arguments: Any, **named: Any) -> None:
        """Get ready, once."""

    @abstractmethod
    def answer(self, batch: Batch) -> Row:
        """What becomes of one row."""


class _Answering(_Actor):
    """An actor with the model."""

    def begin(self, load: Callable[[], Recommender], content: str, asked: Asked, titles: bool) -> None:
        self._model, self._asked, self._titles, self._reader = load(), asked, titles, UserReader()
        self._file = "", Path()
        self._seen: tuple[Path | int, ...] = ()
        if content_of(self._model) != content:
            raise InputError("the model was replaced while its recommendations were made; run the same command again.")

    def answer(self, batch: Batch) -> Row:
        file, content = self._here(str(batch["path"][0])), str(batch["content"][0])
        self._same(file, content)
        rows = self._reader.take(file, int(batch["begin"][0]), int(batch["size"][0]))
        self._same(file, content)  # whichever of the two was opened
        part = answered(self._model, rows, self._asked, titles=self._titles)
        return {name: batch[name] for name in ("job", "begin", "rows")} | {"part": [part]}

    def _here(self, path: str) -> Path:
        """Where the file is on this machine; what lies at a URI is fetched when its first piece comes."""
        if self._file[0] != path:
            self._file = path, local(path)
        return self._file[1]

    def _same(self, file: Path, content: str) -> None:
        """Parts of two files must not become one: what is another file than this actor last saw is hashed."""
        seen: tuple[Path | int, ...] = (file, *_signs(file))
        if seen != self._seen and (seen[1:] == () or sha256_of(file) != content):
            words = "was replaced while its users were recommended to; run the same command again."
            raise InputError(f"{file}: {words}", arguments=("input",))
        self._seen = seen


def _signs(file: Path) -> tuple[int, ...]:
    """What changes when a file does; nothing where there is none."""
    try:
        facts = file.stat()
    except OSError:
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


class _Encoding(_Actor):
    """An actor with the encoder."""

    def begin(self, settings: EmbeddingSettings, state: EncoderState | None) -> None:
        self._encoder = encoder_of(settings, state)

    def answer(self, batch: Batch) -> Row:
        vectors = self._encoder.encode(list(batch["texts"][0]))
        return {"block": batch["block"], "width": [vectors.shape[1]], "vectors": [vectors.tobytes()]}


def _pieces(jobs: Sequence[Job], size: int) -> Iterator[Row]:
    """What is missing, in the order of files and rows."""
    for number, job in enumerate(jobs):
        path, content = everywhere(job.users.path), job.origin.made_from["users"]
        for begin, rows in job.parts.missing(len(job.users), size):
            yield {"job": number, "path": path, "content": content, "begin": begin, "rows": rows, "size": size}


def _settle(context: Any) -> None:
    """Quiet, and parts in the order of their rows: so the first file is the first to be finished."""
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_options.preserve_order = True

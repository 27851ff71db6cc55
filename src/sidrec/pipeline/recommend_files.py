"""Many files of users, one file of recommendations for each of them; finished ones are not made again."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Unpack

from sidrec.core.errors import InputError, StorageError
from sidrec.core.mirroring import local, refresh
from sidrec.core.places import is_uri, mirrored
from sidrec.core.progress import Progress, SilentProgress
from sidrec.data.readers.chunks import plain_suffix
from sidrec.data.readers.table import SUFFIXES
from sidrec.data.readers.unpack import PACKED
from sidrec.models.base import Recommender
from sidrec.pipeline.batch_job import BatchSummary, Job, Wish, begun
from sidrec.pipeline.recommend_many import BatchAsked, fill, wished

Filling = Callable[[Sequence[Job], Wish, Progress], Iterator[Job]]
"""Makes every missing part of some jobs, and yields each job when it has all of its parts."""
_SIGNS = frozenset("*?[")


def recommend_files(
    model: Recommender,
    places: Sequence[tuple[Path, Path]],
    *,
    titles: bool = False,
    batch_users: int = 4096,
    replace: bool = False,
    progress: Progress | None = None,
    filling: tuple[Filling, int] | None = None,
    **request: Unpack[BatchAsked],
) -> list[BatchSummary]:
    """`recommend_many` for each (input, output) of `places`; the same files, in the same order.

    `filling` is another way to make the parts, and of how many files at a time; by default one after the other here.
    """
    progress = progress or SilentProgress()
    wish = wished(model, request, titles=titles, batch_users=batch_users, replace=replace)
    wish.tell(progress)
    fill_in, at_a_time = filling or (_one_by_one, 1)
    found: dict[Path, BatchSummary] = {}
    for some in _groups(places, at_a_time):
        with ExitStack() as stack:
            begin = [begun(wish, *place, progress, shared=filling is not None) for place in some]
            jobs = [stack.enter_context(job) for job in begin]
            found |= {job.output: job for job in jobs if isinstance(job, BatchSummary)}
            for done in fill_in([job for job in jobs if isinstance(job, Job)], wish, progress):
                found[done.output] = done.finish()
    return [found[mirrored(output)] for _, output in places]


def _one_by_one(jobs: Sequence[Job], wish: Wish, progress: Progress) -> Iterator[Job]:
    for job in jobs:
        fill(job, wish, progress)
        yield job


def is_many(inputs: Sequence[str], output: Path) -> bool:
    """Whether a folder is to be filled: several files, a pattern or a folder of them, or a folder to write into."""
    if len(inputs) > 1 or local(output).is_dir():
        return True
    return any(_is_pattern(name) or local(name).is_dir() for name in inputs)


def placed(inputs: Sequence[str], folder: Path) -> list[tuple[Path, Path]]:
    """Files by name, pattern or folder, in the order of their names, and where in `folder` their output goes."""
    files = sorted({file for name in inputs for file in _files(name)})
    folder = mirrored(folder)
    if folder.exists() and not folder.is_dir():
        words = "is a file, and the outputs of several files go into a folder; choose another place."
        raise StorageError(f"{folder}: {words}", arguments=("output",))
    root = Path(os.path.commonpath([file.absolute().parent for file in files]))
    found = [(file, folder / _named(file.absolute().relative_to(root))) for file in files]
    twice = [name for name, count in Counter(output for _, output in found).items() if count > 1]
    if twice:
        both = ", ".join(str(file) for file, output in found if output == twice[0])
        raise InputError(f"{both}: would both be written to {twice[0]}; rename one.", arguments=("input",))
    return found


def _files(name: str) -> list[Path]:
    if _is_pattern(name):
        if is_uri(name):  # what lies in a folder is known when it was fetched
            refresh(mirrored(name).parent)
        place = mirrored(name)
        found = [file for file in Path(place.anchor).glob(str(place.relative_to(place.anchor))) if file.is_file()]
    elif local(name).is_dir():
        found = [file for file in local(name).iterdir() if plain_suffix(file) in SUFFIXES and file.name[0] != "."]
    else:
        found = [local(name)]
    if not found:
        raise InputError(f"{name}: there is no such file of users.", arguments=("input",))
    return found


def _is_pattern(name: str) -> bool:
    return bool(_SIGNS & set(name)) and not mirrored(name).exists()


def _named(file: Path) -> Path:
    """users.csv.gz becomes users.parquet."""
    name = file.stem if file.suffix.lower() in PACKED else file.name
    return file.with_name(f"{Path(name).stem}.parquet")


def _groups(places: Sequence[tuple[Path, Path]], size: int) -> Iterator[Sequence[tuple[Path, Path]]]:
    return (places[first : first + size] for first in range(0, len(places), size))

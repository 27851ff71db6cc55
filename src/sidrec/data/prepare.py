"""The prepare stage: a source on disk becomes a dataset artefact, once; and its twin that stays in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from sidrec.core.artifacts import MANIFEST, Artifact, Origin, ensure, write
from sidrec.core.errors import InputError, SettingsError
from sidrec.core.given_paths import as_path
from sidrec.core.locks import locked
from sidrec.core.notices import SidrecWarning
from sidrec.core.progress import Progress, ProgressTask, SilentProgress
from sidrec.core.storage import sha256_of, write_json
from sidrec.data.build_dataset import CHECKS, PrepareSettings, Tally, build_dataset
from sidrec.data.dataset import Dataset
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.detect import file_source, folder_source
from sidrec.data.readers.frames import as_polars, frame_items, frame_source, is_frame
from sidrec.data.readers.table import read_items
from sidrec.data.schema import PREPARATION_FILE, STATISTICS_FILE, TIMESTAMP, SourceFormat
from sidrec.data.source import Batch, Source


@dataclass(frozen=True)
class Prepared:
    """What the stage leaves behind."""

    path: Path
    statistics: Mapping[str, Any]
    left_out: Mapping[str, int]
    skipped: bool
    notes: tuple[str, ...] = ()
    """What was decided and should be known."""


def find_source(
    source: Path | None,
    interactions: Path | None = None,
    items: Path | None = None,
    *,
    columns: Columns | None = None,
    format: str | None = None,
) -> Source:
    """Either a folder (or file) whose format is detected, or files by name."""
    if source is not None and interactions is not None:
        words = "a source and a file of interactions are two ways to say the same; give one of them."
        raise InputError(words, arguments=("source", "interactions"))
    where = source or interactions
    if where is None:
        words = "nothing to read: give a source, or a file of interactions (and one of items)."
        raise InputError(words, arguments=("source", "interactions", "items"))
    names = columns or Columns()
    known: dict[str, SourceFormat] = {name: name for name in get_args(SourceFormat)}
    if format is not None and format not in known:
        words = f"{format}: not a format we read; choose of {', '.join(known)}."
        raise SettingsError(words, arguments=("format",))
    chosen = known[format] if format is not None else None
    if source is not None and source.is_dir():
        if items is not None:
            words = "is a folder, so a file of items needs a file of interactions beside it."
            raise InputError(f"{source}: {words}", arguments=("interactions",))
        return folder_source(source, names, chosen)
    return file_source(where, items, names, chosen)


def prepare(
    source: Source,
    out: Path,
    settings: PrepareSettings,
    columns: Columns | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """Write the dataset artefact `out`, or find it finished from the same files and settings."""
    progress = progress or SilentProgress()
    out = Path(out)
    watch = _Watch(source.files)
    with ThreadPoolExecutor(1) as beside:
        # hashing the sources and reading them share the time, unless the hash can save the reading
        hashed = beside.submit(_origin, source, settings, columns or Columns())

        def make() -> Prepared:
            with progress.task("interactions read") as task:
                counted = replace(source, interactions=lambda: _counted(source.interactions(), task))
                dataset, tally = build_dataset(counted, settings)
            notes = _notes(source, dataset)
            origin = hashed.result()
            watch.refuse_changes()
            with write(out, origin) as directory:
                dataset.write_files(directory)
                write_json(directory / PREPARATION_FILE, _preparation(source, tally, notes))
            return Prepared(out, dataset.statistics().as_dict(), tally.as_dict(), skipped=False, notes=notes)

        if not out.exists():
            with locked(out):
                return make()
        return ensure(out, hashed.result(), make, _found, progress)


def read_dataset(
    interactions: Any,
    items: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
    interaction_columns: Mapping[str, str] | None = None,
    item_columns: Mapping[str, str] | None = None,
    format: SourceFormat | None = None,
    **settings: Any,
) -> Dataset:
    """A dataset in memory, from paths or data frames.

    `interactions` may also be a folder in any format that `sidrec data prepare` reads, or an artefact that it wrote.
    `columns` say how your columns are called, `{"user_id": "customer"}`; where the tables differ, `interaction_columns`
    and `item_columns` do.
    Further settings (`k_core=5`, `split="global-time"`, ...) are those of `PrepareSettings`.
    """
    options = PrepareSettings.parse(settings, owner="read_dataset")
    if not is_frame(interactions):
        interactions = as_path(interactions, "interactions")
    if items is not None and not is_frame(items):
        items = as_path(items, "items")
    if not is_frame(interactions) and (interactions / MANIFEST).is_file() and not settings:
        return Dataset.load(Path(interactions))
    named = Columns.of(columns, interaction_columns, item_columns)
    source = _mixed_source(interactions, items, named, format)
    watch = _Watch(source.files)
    dataset, _ = build_dataset(source, options)
    watch.refuse_changes()
    for note in _notes(source, dataset):
        warnings.warn(note, SidrecWarning, stacklevel=2)
    return dataset.with_content_fingerprint()


def _mixed_source(interactions: Any, items: Any, columns: Columns, format: SourceFormat | None) -> Source:
    """Interactions and items may each be a path or a data frame."""
    if is_frame(interactions) and (items is None or is_frame(items)):
        return frame_source(interactions, items, columns)
    if is_frame(interactions):
        table = file_source(Path(items), None, columns, "table")
        return replace(
            frame_source(interactions, None, columns), files=table.files, items=lambda: read_items(Path(items), columns)
        )
    if is_frame(items):
        found = find_source(Path(interactions), columns=columns, format=format)
        return replace(found, items=lambda: frame_items(as_polars(items, "items"), columns))
    table_path = None if items is None else Path(items)
    return find_source(Path(interactions), items=table_path, columns=columns, format=format)


def _counted(batches: Iterator[Batch], task: ProgressTask) -> Iterator[Batch]:
    for batch in batches:
        task.advance(batch.frame.height)
        yield batch


class _Watch:
    """Notices a source file that somebody writes to while we read it."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._before = {file: self._look(file) for file in files}

    def refuse_changes(self) -> None:
        for file, before in self._before.items():
            if self._look(file) != before:
                raise InputError(f"{file}: changed while it was read; wait until its writer is done and run again.")

    @staticmethod
    def _look(file: Path) -> tuple[int, int]:
        try:
            facts = file.stat()
        except OSError as error:
            raise InputError(f"{file}: {(error.strerror or 'cannot be read').lower()}; check the path.") from None
        return facts.st_size, facts.st_mtime_ns


def _origin(source: Source, settings: PrepareSettings, columns: Columns) -> Origin:
    """The content of the files counts, and their names only as far as they tell them apart."""
    named = {f"{number}:{file.name}": _hash(file) for number, file in enumerate(source.files)}
    chosen = settings.model_dump(mode="json", exclude=CHECKS) | {"format": source.format, **columns.as_settings()}
    return Origin("dataset", settings=chosen, made_from=named)


def _hash(file: Path) -> str:
    try:
        return sha256_of(file)
    except OSError as error:
        raise InputError(
            f"{file}: {(error.strerror or 'cannot be read').lower()}; a readable file is needed."
        ) from None


def _found(artifact: Artifact) -> Prepared:
    left_out = artifact.json(PREPARATION_FILE)
    left_out.pop("format", None)
    notes = tuple(left_out.pop("notes", ()))
    return Prepared(artifact.path, artifact.json(STATISTICS_FILE), left_out, skipped=True, notes=notes)


def _preparation(source: Source, tally: Tally, notes: Sequence[str]) -> dict[str, Any]:
    return {"format": source.format, **tally.as_dict(), **({"notes": list(notes)} if notes else {})}


def _notes(source: Source, dataset: Dataset) -> tuple[str, ...]:
    """Sequences have no times by nature; of a table it should be known."""
    if dataset.timestamps is not None or source.format == "sequences":
        return ()
    name = source.files[0] if source.files else "interactions"
    return (
        f"{name}: has no column {TIMESTAMP}, so the order of its rows is taken as the order in time; "
        f"if one of its columns is the time, say so: {TIMESTAMP}=NAME.",
    )

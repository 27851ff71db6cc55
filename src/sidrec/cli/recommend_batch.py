"""`sidrec recommend --input`: files of users in, files of recommendations out."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sidrec.models.base import Recommender
    from sidrec.pipeline.batch_job import BatchSummary
    from sidrec.pipeline.recommend_files import Filling
    from sidrec.pipeline.recommend_many import BatchAsked


@dataclass(frozen=True)
class Files:
    """From where to where, and how."""

    input: list[str]
    output: Path
    titles: bool
    batch_users: int

    def recommend(
        self, model: Recommender, filling: tuple[Filling, int] | None, request: BatchAsked
    ) -> list[BatchSummary]:
        """One file, or a folder of them."""
        from sidrec.cli import console
        from sidrec.pipeline.recommend_files import is_many, placed, recommend_files

        many = is_many(self.input, self.output)
        places = placed(self.input, self.output) if many else [(Path(self.input[0]), self.output)]
        return recommend_files(
            model,
            places,
            titles=self.titles,
            batch_users=self.batch_users,
            progress=console.progress(),
            filling=filling,
            **request,
        )


def filling_on_ray(load: Callable[[], Recommender], address: str | None, workers: int | None) -> tuple[Filling, int]:
    """Actors that get the model by `load`."""
    from sidrec.cluster.batch import Actors

    return Actors(workers, address).filling(load)


def show_batch(found: Sequence[BatchSummary], output: Path, *, as_json: bool) -> None:
    """What was done, and how to look at it."""
    from sidrec.cli import console
    from sidrec.pipeline.batch_job import together

    many = len(found) > 1 or found[0].output != output
    summary = together(found, output) if many else found[0]
    if as_json:
        console.show_json(summary.as_dict() | ({"files": [one.as_dict() for one in found]} if many else {}))
        return
    if many:
        there = sum(one.skipped for one in found)
        console.say(f"{len(found):,} file{_s(len(found))}, {there:,} of them already there:")
    rate = "" if summary.skipped else f" in {summary.seconds:,.1f} s"
    console.say(
        f"{summary.users:,} users{rate}; {summary.fallback:,} of them got the most popular items (nothing of their "
        f"history is known), {summary.unknown_items:,} unknown item{_s(summary.unknown_items)} skipped."
    )
    if summary.unknown_users:
        console.say(f"{summary.unknown_users:,} of the users are not in the interactions, so nothing is known of them.")
    reader = {".csv": "read_csv", ".jsonl": "read_ndjson", ".ndjson": "read_ndjson"}
    read = reader.get(summary.output.suffix.lower(), "read_parquet")
    place = summary.output / "**/*.parquet" if many else summary.output
    shown = f"import polars; print(polars.{read}({str(place)!r}))"
    console.wrote(summary.output, shlex.join(["python", "-c", shown]))


def _s(count: int) -> str:
    return "" if count == 1 else "s"

"""What an evaluation found, as typed values, as JSON, and as an artefact."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sidrec.core.artifacts import Artifact, Origin, opened, write, write_json
from sidrec.core.checked_files import damaged, read_json
from sidrec.core.checked_tables import ColumnKind, read_table
from sidrec.core.replacing import replacing
from sidrec.metrics.significance import Interval

KIND = "evaluation"
RANKS_FILE = "ranks.parquet"
RESULTS_FILE = "results.json"
TIMING_FILE = "timing.json"
_METRIC = re.compile(r"[a-z_]+@[1-9]\d{0,8}")
_RANKS: dict[str, ColumnKind] = {
    "user_id": "text",
    "target": "text",
    **dict.fromkeys(("rank", "code_rank"), "whole"),
    **dict.fromkeys(("history_length", "target_count", "generated", "invalid", "duplicates"), "count"),
}


@dataclass(frozen=True)
class SliceResult:
    """Figures of some of the users."""

    users: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Rates:
    """Shares of generated IDs that no item has or that were repeated, and of items that share their ID."""

    invalid_rate: float = 0.0
    duplicate_rate: float = 0.0
    collision_rate: float = 0.0


@dataclass(frozen=True)
class Timing:
    seconds: float
    users_per_s: float


@dataclass(frozen=True)
class OtherData:
    """A model judged on data that it was not trained on: what it does not know counts as a miss."""

    unknown_items: int
    """Items of the data that the model does not know."""
    unknown_targets: int
    """Users whose held-out item is one of these."""
    left_out_users: int
    """Users who are not judged, because the model was trained on their held-out item."""

    @property
    def words(self) -> str:
        left_out = f"; {self.left_out_users:,} users are left out, it was trained on their held-out item"
        return (
            f"trained on other data: {self.unknown_items:,} items of this data are unknown to it, and for "
            f"{self.unknown_targets:,} users the item to find is one of them, which counts as a miss"
            f"{left_out if self.left_out_users else ''}"
        )


@dataclass(frozen=True)
class Evaluation:
    """Metrics are named `recall@10`, `ndcg@10`, `mrr@10`; those under `code_match_` count an equal ID as a hit."""

    model: str
    dataset: str
    split: str
    exclude_seen: bool
    users: int
    metrics: Mapping[str, float]
    intervals: Mapping[str, Interval]
    rates: Rates
    by_history_length: Mapping[str, SliceResult]
    by_item_popularity: Mapping[str, SliceResult]
    timing: Timing
    ranks: pl.DataFrame
    """One row per user: user_id, target, rank, code_rank, history_length, target_count and the search's counts."""
    other_data: OtherData | None = None
    """What must be known of the figures of a model that was trained on other data."""

    def __repr__(self) -> str:
        seen = ", own items left out" if self.exclude_seen else ""
        lines = [
            f"  {name:<10} {self.metrics[name]:.4f}  ({interval.low:.4f} to {interval.high:.4f})"
            for name, interval in self.intervals.items()
        ]
        other = [] if self.other_data is None else [f"  {self.other_data.words}"]
        return "\n".join([f"Evaluation({self.model}, {self.users:,} users, {self.split} items{seen})", *lines, *other])

    @property
    def recall(self) -> dict[int, float]:
        return self._at("recall@")

    @property
    def ndcg(self) -> dict[int, float]:
        return self._at("ndcg@")

    def as_dict(self) -> dict[str, Any]:
        """One flat object of figures; intervals and slices below."""
        return {**self.findings(), **asdict(self.timing)}

    def findings(self) -> dict[str, Any]:
        """Everything but the time it took: equal for equal models, data and settings."""
        other = {} if self.other_data is None else {"other_data": asdict(self.other_data)}
        return {
            "model": self.model,
            "dataset": self.dataset,
            "split": self.split,
            "exclude_seen": self.exclude_seen,
            "users": self.users,
            **self.metrics,
            **asdict(self.rates),
            "intervals": {name: [interval.low, interval.high] for name, interval in self.intervals.items()},
            "by_history_length": {name: asdict(part) for name, part in self.by_history_length.items()},
            "by_item_popularity": {name: asdict(part) for name, part in self.by_item_popularity.items()},
            **other,
        }

    def save(self, path: Path | str, *, replace: bool = False) -> Path:
        """Keep it as an artefact, for `compare` and the reports; another one is replaced only with `replace`."""
        content = hashlib.sha256(json.dumps(self.findings(), sort_keys=True).encode()).hexdigest()
        with replacing(replace), write(Path(path), Origin(KIND, made_from={"content": content})) as directory:
            self.write_files(directory)
        return Path(path)

    def write_files(self, directory: Path) -> None:
        self.ranks.write_parquet(directory / RANKS_FILE)
        write_json(directory / RESULTS_FILE, self.findings())
        write_json(directory / TIMING_FILE, asdict(self.timing))

    @classmethod
    def load(cls, path: Path | str) -> Evaluation:
        with opened(Path(path), KIND) as artifact:
            return cls.from_artifact(artifact)

    @classmethod
    def from_artifact(cls, artifact: Artifact) -> Evaluation:
        file = artifact.file(RESULTS_FILE)
        found, figures = read_json(file, _Findings), read_json(file, dict[str, Any])
        metrics = {name: value for name, value in figures.items() if "@" in name}
        if not all(_METRIC.fullmatch(name) and isinstance(value, int | float) for name, value in metrics.items()):
            raise damaged(file, "has a metric that is no number or has no such name as recall@10")
        return found.evaluation(
            metrics, read_json(artifact.file(TIMING_FILE), Timing), read_table(artifact.file(RANKS_FILE), _RANKS)
        )

    def _at(self, prefix: str) -> dict[int, float]:
        found = {name.removeprefix(prefix): value for name, value in self.metrics.items() if name.startswith(prefix)}
        return {int(k): value for k, value in found.items()}


@dataclass(frozen=True)
class _Findings:
    """What `results.json` must hold beside the metrics."""

    model: str
    dataset: str
    split: str
    exclude_seen: bool
    users: int
    invalid_rate: float
    duplicate_rate: float
    collision_rate: float
    intervals: dict[str, tuple[float, float]]
    by_history_length: dict[str, SliceResult]
    by_item_popularity: dict[str, SliceResult]
    other_data: OtherData | None = None

    def evaluation(self, metrics: dict[str, float], timing: Timing, ranks: pl.DataFrame) -> Evaluation:
        return Evaluation(
            self.model,
            self.dataset,
            self.split,
            self.exclude_seen,
            self.users,
            metrics,
            {name: Interval(*ends) for name, ends in self.intervals.items()},
            Rates(self.invalid_rate, self.duplicate_rate, self.collision_rate),
            self.by_history_length,
            self.by_item_popularity,
            timing,
            ranks,
            self.other_data,
        )

"""Which differences between evaluated models are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidrec.core.errors import InputError
from sidrec.core.places import mirrored
from sidrec.evaluation.figures import PerUser, per_user_metrics
from sidrec.evaluation.results import Evaluation
from sidrec.metrics.significance import PairedTest, holm, paired_bootstrap, paired_t_test

Run = Evaluation | Path | str
"""An evaluation, or the directory it was kept in."""


@dataclass(frozen=True)
class Difference:
    """`second` minus `first` on the users both have; `p_adjusted` is the t-test's after Holm's correction."""

    first: str
    second: str
    metric: str
    users: int
    first_value: float
    second_value: float
    difference: float
    low: float
    high: float
    p_t_test: float
    p_bootstrap: float
    p_adjusted: float
    real: bool
    """Both tests agree: the adjusted p is below 5 % and the bootstrap interval does not hold zero."""

    @property
    def verdict(self) -> str:
        if not self.real:
            return "could be chance"
        return f"{self.second if self.difference > 0 else self.first} is better"


@dataclass(frozen=True)
class Comparison:
    differences: list[Difference]

    def __repr__(self) -> str:
        lines = [
            f"  {row.metric}: {row.first} {row.first_value:.4f}, {row.second} {row.second_value:.4f}, "
            f"{row.difference:+.4f} ({row.low:+.4f} to {row.high:+.4f}), {row.verdict}"
            for row in self.differences
        ]
        return "\n".join([f"Comparison({len(self.differences)} differences)", *lines])

    def as_dict(self) -> dict[str, Any]:
        return {"differences": [{**asdict(row), "verdict": row.verdict} for row in self.differences]}


def compare(*runs: Run | Mapping[str, Run], metrics: Sequence[str] | None = None) -> Comparison:
    """Every pair of runs on every metric (by default Recall and NDCG at the deepest k that all have).

    Runs are evaluations or the directories they were kept in; `{name: run}` gives them names of your own.
    """
    named = _named(runs)
    if len(named) < 2:
        words = "a comparison needs at least two evaluated runs; make more with `sidrec evaluate`, each in a directory."
        raise InputError(words)
    _check_comparable(named)
    chosen = _chosen_metrics(named, metrics)
    pairs = [_Pair.of(*first, *second) for first, second in combinations(named.items(), 2)]
    tests = [(pair, name, pair.test(values)) for pair in pairs for name, values in chosen.items()]
    adjusted = holm(np.array([found.t_test.p_value for _, _, found in tests]))
    return Comparison([_row(*test, float(p)) for test, p in zip(tests, adjusted, strict=True)])


def _named(runs: Sequence[Run | Mapping[str, Run]]) -> dict[str, Evaluation]:
    """A run is called as its owner says, or by its folder (by its path where names repeat), or by its model."""
    pairs: list[tuple[str | None, Run]] = []
    for run in runs:
        pairs += run.items() if isinstance(run, Mapping) else [(None, run)]
    for _, run in pairs:
        _refuse_other(run)
    folders = [mirrored(run).resolve() for name, run in pairs if name is None and not isinstance(run, Evaluation)]
    if len(set(folders)) < len(folders):
        raise InputError("the same run was given twice; name different runs.")
    short = len({folder.name for folder in folders}) == len(folders)
    named: dict[str, Evaluation] = {}
    for name, run in pairs:
        if isinstance(run, Evaluation):
            named[_free(name or run.model, named)] = run
        else:
            called = mirrored(run).resolve().name if short else str(run)
            named[_free(name or called, named)] = Evaluation.load(Path(run))
    return named


def _refuse_other(run: object) -> None:
    if not isinstance(run, Evaluation | Path | str):
        words = f"compare takes evaluations or their directories, not {type(run).__name__}"
        raise InputError(f"{words}; sidrec.evaluate(model, data) makes one.")


def _free(name: str, taken: Mapping[str, Evaluation]) -> str:
    """Two evaluations of one kind of model are told apart by a number."""
    if name not in taken:
        return name
    return next(found for number in count(2) if (found := f"{name} ({number})") not in taken)


@dataclass(frozen=True)
class _Tests:
    means: tuple[float, float]
    t_test: PairedTest
    bootstrap: PairedTest


@dataclass(frozen=True)
class _Pair:
    """Two runs on the users and held-out items that both have."""

    first: str
    second: str
    ranks: tuple[NDArray[np.int32], NDArray[np.int32]]

    @classmethod
    def of(cls, first: str, one: Evaluation, second: str, two: Evaluation) -> _Pair:
        left, right = (run.ranks.select("user_id", "target", "rank") for run in (one, two))
        shared = left.join(right, on=["user_id", "target"], maintain_order="left")
        if shared.height < 2:
            raise InputError(f"{first} and {second} share {shared.height} users; evaluate them on the same users.")
        return cls(first, second, (shared["rank"].to_numpy(), shared["rank_right"].to_numpy()))

    def test(self, metric: PerUser) -> _Tests:
        one, two = metric(self.ranks[0]), metric(self.ranks[1])
        return _Tests((float(one.mean()), float(two.mean())), paired_t_test(one, two), paired_bootstrap(one, two))


def _row(pair: _Pair, metric: str, found: _Tests, adjusted: float) -> Difference:
    interval = found.bootstrap.interval
    return Difference(
        first=pair.first,
        second=pair.second,
        metric=metric,
        users=len(pair.ranks[0]),
        first_value=found.means[0],
        second_value=found.means[1],
        difference=found.t_test.difference,
        low=interval.low,
        high=interval.high,
        p_t_test=found.t_test.p_value,
        p_bootstrap=found.bootstrap.p_value,
        p_adjusted=adjusted,
        real=adjusted < 0.05 and (interval.low > 0 or interval.high < 0),
    )


def _chosen_metrics(runs: Mapping[str, Evaluation], names: Sequence[str] | None) -> dict[str, PerUser]:
    """The named metrics, which all runs must have; by default Recall and NDCG at their deepest common k."""
    ks = tuple(sorted(set.intersection(*({*run.recall} for run in runs.values()))))
    if not ks:
        raise InputError("the runs have no k in common; evaluate them at the same k.")
    known = {name: values for name, values in per_user_metrics(ks).items() if not name.startswith("mrr")}
    deepest = [name for name in known if name.endswith(f"@{ks[-1]}")]
    if unknown := [name for name in names or () if name not in known]:
        raise InputError(f"{unknown[0]!r} was not measured in all runs; they share: {', '.join(known)}.")
    return {name: known[name] for name in names or deepest}


def _check_comparable(runs: Mapping[str, Evaluation]) -> None:
    (base, first), *others = runs.items()
    for name, run in others:
        for what in ("dataset", "split", "exclude_seen"):
            if getattr(run, what) != getattr(first, what):
                words = f"{getattr(first, what)} and {getattr(run, what)}"
                raise InputError(f"{base} and {name} cannot be compared: their {what} differs ({words}).")

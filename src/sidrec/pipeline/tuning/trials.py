"""The trials of a search, kept by Optuna in one file that any number of tuners may share.

A trial belongs to whoever holds its claim, a lock file: one whose holder died is taken up again under its number, with
its settings and its checkpoints. Which trial is next is decided by one tuner at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sidrec.core.choices import Choice, OneOf
from sidrec.core.errors import SettingsError
from sidrec.core.locks import locked, locked_if_free
from sidrec.pipeline.tuning.search import METRIC, Search

JOURNAL = "study.journal"
State = Literal["done", "pruned", "failed", "running", "waiting"]
N_STARTUP = 5
"""Finished trials before any other is pruned; twice as many are drawn at random before the sampler has a say."""


@dataclass(frozen=True)
class Trial:
    """A trial as it stands; `value` is the validation figure of a finished one."""

    number: int
    state: State
    chosen: dict[str, Any]
    value: float | None = None
    epochs: int = 0
    seconds: float = 0.0
    message: str = ""

    def line(self) -> str:
        """The trial in a few words."""
        chosen = ", ".join(f"{name}={shown(value)}" for name, value in self.chosen.items())
        found = {"done": f"{METRIC} {self.value:.4f}" if self.value is not None else "", "failed": self.message}
        words = found.get(self.state, self.state)
        return f"trial {self.number}: {words}, {self.epochs} epochs, {self.seconds:.0f} s: {chosen}"


class Trials:
    """The trials in `out`."""

    def __init__(self, out: Path, search: Search) -> None:
        self._optuna = import_optuna()
        self._out, self._search = out, search
        self._space = {name: _distribution(self._optuna, one) for name, one in search.space.items()}
        self._mine: set[int] = set()
        with locked(out / JOURNAL, wait=True):
            search.agree_with(out)
            self._study = self._opened(out / JOURNAL)
            if not self._study.get_trials(deepcopy=False):
                self._study.enqueue_trial(_within(search))

    @contextmanager
    def take(self, total: int) -> Iterator[Trial | None]:
        """The next trial, ours for as long as the block lasts: one that somebody left, or a new one up to `total`."""
        with ExitStack() as stack:
            with locked(self._out / JOURNAL, wait=True):
                found = self._left(stack) or self._new(total, stack)
            if found is not None:
                self._mine.add(found.number)
                stack.callback(self._mine.discard, found.number)
            yield found

    def report(self, number: int, epoch: int, value: float) -> bool:
        """Note a trial's figure after an epoch; whether it stands below the median of those before."""
        trial = self._trial(number)
        if epoch not in self._frozen(number).intermediate_values:  # told before it was taken up again
            trial.report(value, epoch)
        return bool(trial.should_prune())

    def end(self, ended: Trial) -> None:
        """Write down how a trial ended."""
        trial, states = self._trial(ended.number), self._optuna.trial.TrialState
        for name in ("epochs", "seconds", "message"):
            trial.set_user_attr(name, getattr(ended, name))
        if ended.state == "done":
            self._study.tell(ended.number, ended.value)
        else:
            self._study.tell(ended.number, state=states.PRUNED if ended.state == "pruned" else states.FAIL)

    def all(self) -> list[Trial]:
        """Every trial, by number."""
        return [_plain(one) for one in self._study.get_trials(deepcopy=False)]

    def importances(self) -> dict[str, float]:
        """How much of the difference between trials each setting explains, the largest first."""
        done = [trial for trial in self.all() if trial.state == "done"]
        if len({trial.value for trial in done}) < 2:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about estimates of few trials, which the page says in words
            found = self._optuna.importance.get_param_importances(self._study)
        return {name: float(value) for name, value in found.items()}

    def _left(self, stack: ExitStack) -> Trial | None:
        """A trial that is said to run and that nobody holds."""
        running = self._study.get_trials(deepcopy=False, states=(self._optuna.trial.TrialState.RUNNING,))
        for one in running:
            if one.number not in self._mine and stack.enter_context(locked_if_free(self._claim(one.number))):
                return _plain(one)
        return None

    def _new(self, total: int, stack: ExitStack) -> Trial | None:
        known = self._study.get_trials(deepcopy=False)
        waiting = any(one.state == self._optuna.trial.TrialState.WAITING for one in known)
        if len(known) >= total and not waiting:
            return None
        # a sampler that went on from where it was seeded would draw the same again after every kill
        seed = int(np.random.SeedSequence([self._search.seed, len(known)]).generate_state(1)[0])
        self._study.sampler = self._optuna.samplers.TPESampler(seed=seed, n_startup_trials=2 * N_STARTUP)
        number = self._study.ask(self._space).number
        stack.enter_context(locked(self._claim(number)))
        return _plain(self._frozen(number))

    def _claim(self, number: int) -> Path:
        return self._out / f"trial-{number}"

    def _frozen(self, number: int) -> Any:
        return self._study.get_trials(deepcopy=False)[number]

    def _trial(self, number: int) -> Any:
        """The living trial behind a number, whoever asked for it."""
        return self._optuna.trial.Trial(self._study, self._frozen(number)._trial_id)

    def _opened(self, file: Path) -> Any:
        journal = self._optuna.storages.journal
        _trim(file, journal.JournalFileSymlinkLock(str(file)))
        return self._optuna.create_study(
            study_name="tune",
            storage=self._optuna.storages.JournalStorage(journal.JournalFileBackend(str(file))),
            direction="maximize",
            pruner=self._optuna.pruners.MedianPruner(n_startup_trials=N_STARTUP),
            load_if_exists=True,
        )


def import_optuna() -> Any:
    """Optuna, told to be quiet."""
    if find_spec("optuna") is None:
        raise SettingsError("Optuna is not installed; `pip install 'sidrec[tune]'` and run the same command again.")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _trim(file: Path, lock: Any) -> None:
    """A machine that went down in the middle of a line leaves half of it, and what is written next must not join it."""
    if not file.is_file():
        return
    lock.acquire()
    try:
        text = file.read_bytes()
        if text and not text.endswith(b"\n"):
            with file.open("r+b") as journal:
                journal.truncate(text.rfind(b"\n") + 1)
    finally:
        lock.release()


def _distribution(optuna: Any, choice: Choice) -> Any:
    kinds = optuna.distributions
    if isinstance(choice, OneOf):
        return kinds.CategoricalDistribution(choice.values)
    if choice.whole:
        return kinds.IntDistribution(int(choice.low), int(choice.high), log=choice.log)
    return kinds.FloatDistribution(choice.low, choice.high, log=choice.log)


def _within(search: Search) -> dict[str, Any]:
    """What of the recipe can be said in the space; the sampler chooses the rest."""
    return {name: value for name, value in search.first().items() if search.space[name].holds(value)}


def _plain(trial: Any) -> Trial:
    states: dict[str, State] = {
        "COMPLETE": "done",
        "PRUNED": "pruned",
        "FAIL": "failed",
        "RUNNING": "running",
        "WAITING": "waiting",
    }
    known, state = trial.user_attrs, states[trial.state.name]
    value = trial.value if state == "done" else None
    kept = (int(known.get("epochs", 0)), float(known.get("seconds", 0.0)), str(known.get("message", "")))
    return Trial(trial.number, state, dict(trial.params), value, *kept)


def shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

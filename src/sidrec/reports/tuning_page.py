"""What a search found: one page with what mattered, a table of all trials, and the best settings as a recipe."""

from __future__ import annotations

from pathlib import Path

from sidrec.core.pages.blocks import Block, Charts, Facts, Heading, Words
from sidrec.core.pages.page import render_page
from sidrec.core.pages.tables import Entry, Mark, Table
from sidrec.core.storage import storage_errors, temporary
from sidrec.core.toml_text import to_toml
from sidrec.pipeline.recipes import SECTION
from sidrec.pipeline.tuning.search import METRIC
from sidrec.pipeline.tuning.trials import Trial, shown
from sidrec.pipeline.tuning.tune import Tuned
from sidrec.reports.charts import Bar, bar_chart

PAGE, TABLE, RECIPE = "index.html", "trials.csv", "best.toml"
_FEW = 20
"""Trials below which it is said that little is known of what mattered."""


def write_tuning(tuned: Tuned) -> Path:
    """The page, the table and the recipe, beside the trials; the recipe's path."""
    table, recipe = trials_table(tuned), tuned.recipe
    title = f"{tuned.search.key}: {len(tuned.trials)} trials"
    words = f"# trial {tuned.best.number} of {len(tuned.trials)}: {METRIC} {tuned.best.value:.4f} on validation\n"
    _write(tuned.out / TABLE, table.csv())
    _write(tuned.out / RECIPE, words + to_toml({SECTION: {"key": recipe.key, **recipe.values}}))
    _write(tuned.out / PAGE, render_page(title, _blocks(tuned, table)))
    return tuned.out / RECIPE


def _blocks(tuned: Tuned, table: Table) -> list[Block]:
    best, first = tuned.best, tuned.trials[0]
    facts = [
        ("model", tuned.search.key),
        ("judged by", f"{METRIC} on the validation part, all users; the test part was not looked at"),
        ("best", f"{best.value:.4f}, trial {best.number}"),
        ("the recipe as it was (trial 0)", "-" if first.value is None else f"{first.value:.4f}"),
        ("trials", ", ".join(f"{tuned.count(state)} {state}" for state in ("done", "pruned", "failed", "running"))),
    ]
    chosen = tuple((name, shown(value)) for name, value in best.chosen.items())
    return [
        Facts(tuple(facts)),
        Heading("What mattered", "importances"),
        *_importances(tuned),
        Heading("The best settings", "best"),
        Facts(chosen),
        Words(f"All of them, as a recipe for sidrec train: {RECIPE}", "note"),
        Heading("Trials", "trials"),
        table,
    ]


def _importances(tuned: Tuned) -> list[Block]:
    found = {name: value for name, value in tuned.importances.items() if value > 0}
    if not found:
        return [Words("Too few trials have ended to say what mattered.", "note")]
    bars = [Bar(name, value, value, value) for name, value in found.items()]
    words = "The share of the difference between good and bad trials that a setting explains."
    doubt = f" Of fewer than {_FEW} trials this is a first impression." if tuned.count("done") < _FEW else ""
    return [Charts((bar_chart("share", bars),), "importances"), Words(words + doubt, "note")]


def trials_table(tuned: Tuned) -> Table:
    """Every trial by number, the best one marked."""
    names = tuple(tuned.search.space)
    columns = ("trial", "state", METRIC, "epochs", "seconds", *names)
    rows = tuple(_row(trial, names, best=trial == tuned.best) for trial in tuned.trials)
    plain = (columns, *(tuple(entry.text for entry in row) for row in rows))
    failed = [f"trial {trial.number} failed: {trial.message}" for trial in tuned.trials if trial.message]
    return Table("trials", columns, rows, plain, "; ".join(failed))


def _row(trial: Trial, names: tuple[str, ...], *, best: bool) -> tuple[Entry, ...]:
    mark: Mark = "best" if best else "muted" if trial.state != "done" else ""
    figures = ("" if trial.value is None else f"{trial.value:.4f}", str(trial.epochs), f"{trial.seconds:.1f}")
    chosen = (shown(trial.chosen[name]) if name in trial.chosen else "" for name in names)
    return (
        Entry(str(trial.number), number=True),
        Entry(trial.state, mark=mark),
        *(Entry(text, mark=mark, number=True) for text in figures),
        *(Entry(text, number=True) for text in chosen),
    )


def _write(file: Path, text: str) -> None:
    """Whole or not at all: two tuners may end at the same time."""
    new = temporary(file)
    with storage_errors(file):
        new.write_text(text, encoding="utf-8")
        new.replace(file)

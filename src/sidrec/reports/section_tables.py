"""The tables of one section: our figures with the published ones beneath, what others measured, and the claim."""

from __future__ import annotations

from sidrec.core.pages.tables import Entry, Mark, Table
from sidrec.metrics.significance import Interval
from sidrec.reports.claims import Verdict
from sidrec.reports.overview import SEEN
from sidrec.reports.published import PublishedTable
from sidrec.reports.summary import Against, RowSummary, SectionSummary

_NOT_MEASURED = "not measured"


def figures_table(summary: SectionSummary, beside: PublishedTable | None) -> Table:
    """Every row, winning or losing, with intervals, the difference to the baseline, and the paper's figure."""
    runs = summary.runs
    metrics = runs.metrics()
    base = runs.section.compared_with
    columns = (
        "model" if runs.section.models else "variant",
        *(heading(name) for name in metrics),
        f"{heading(runs.judge)} against {base}",
        "training",
        "users/s",
    )
    most = max((len(row.row.test) for row in summary.rows), default=0)
    rows = tuple(
        (
            _name(row, beside, most),
            *(_figure(summary, row, name, beside) for name in metrics),
            _difference(row, base),
            *_costs(row),
        )
        for row in summary.rows
    )
    return Table(f"{runs.name}", columns, rows, _plain(summary, beside), _note(summary, beside))


def others_table(name: str, tables: list[PublishedTable]) -> Table:
    """What others measured on the very same data."""
    metrics = ("recall@5", "ndcg@5", "recall@10", "ndcg@10")
    lines = [(table.source, row, figures) for table in tables for row, figures in table.rows.items()]
    plain = tuple((source, row, *(_published(figures.get(m)) for m in metrics)) for source, row, figures in lines)
    rows = tuple((Entry(line[0]), Entry(line[1]), *(Entry(text, number=True) for text in line[2:])) for line in plain)
    columns = ("source", "model", *(heading(metric) for metric in metrics))
    return Table(name, columns, rows, (columns, *plain), "Measured by others on the same data set.")


def claim_table(name: str, verdict: Verdict, metric: str) -> Table:
    """Each comparison behind a conclusion of the paper, tested on our users."""
    columns = ("the paper has", "above", f"our difference in {heading(metric)}", "p", "our figures")
    rows, plain = [], []
    for finding in verdict.findings:
        marks: dict[bool | None, Mark] = {True: "good", False: "bad", None: "muted"}
        words = (finding.better, finding.worse, _signed(finding.against), f"{finding.against.p:.2g}", finding.words)
        plain.append(words)
        rows.append(
            (
                Entry(words[0]),
                Entry(words[1]),
                Entry(words[2], number=True),
                Entry(words[3], number=True),
                Entry(words[4], mark=marks[finding.agrees]),
            )
        )
    return Table(name, columns, tuple(rows), (columns, *plain))


def _name(row: RowSummary, beside: PublishedTable | None, most_seeds: int) -> Entry:
    below = [] if row.row.model == row.row.label else [row.row.model]
    if 0 < len(row.row.test) < most_seeds:
        below.append(f"{len(row.row.test)} of {most_seeds} seeds")
    if beside is not None and row.row.label not in beside.rows:
        below.append("not in the paper")
    return Entry(row.row.label, tuple(below))


def _figure(summary: SectionSummary, row: RowSummary, metric: str, beside: PublishedTable | None) -> Entry:
    if not row.figures:
        return Entry(_NOT_MEASURED, mark="muted", number=True)
    found = row.figures[metric]
    below = [f"{found.interval.low:.4f}–{found.interval.high:.4f}"]
    theirs = None if beside is None else beside.rows.get(row.row.label, {}).get(metric)
    if theirs is not None:
        below.append(f"paper {theirs:.4f}")
    return Entry(f"{found.value:.4f}", tuple(below), _standing(summary, row, metric), number=True)


def _standing(summary: SectionSummary, row: RowSummary, metric: str) -> Mark:
    order = summary.ranked(metric)
    if len(order) < 2:
        return ""
    values = sorted({one.figures[metric].value for one in summary.rows if one.figures}, reverse=True)
    mine = row.figures[metric].value
    if mine == values[0]:
        return "best"
    return "second" if mine == values[1] else ""


def _difference(row: RowSummary, base: str) -> Entry:
    if row.row.label == base:
        return Entry("baseline", mark="muted")
    if row.against is None:
        return Entry(_NOT_MEASURED, mark="muted")
    marks: dict[str, Mark] = {"better": "good", "worse": "bad"}
    return Entry(_signed(row.against), beneath(row.against), marks.get(row.against.verdict, ""))


def beneath(found: Against) -> tuple[str, ...]:
    """What stands under a difference: its intervals, and what they mean."""
    wider = () if found.with_luck is None else (f"{_span(found.with_luck)} with the luck of training",)
    return (_span(found.interval), *wider, f"{found.verdict}, p {found.p:.2g}")


def _span(interval: Interval) -> str:
    return f"{interval.low:+.4f} to {interval.high:+.4f}"


def _costs(row: RowSummary) -> tuple[Entry, Entry]:
    records = row.row.records
    if not records:
        nothing = Entry(_NOT_MEASURED, mark="muted", number=True)
        return nothing, nothing
    return _training(row), Entry(f"{_mean([record.users_per_s for record in records]):,.0f}", number=True)


def _training(row: RowSummary) -> Entry:
    summaries = [record.training for record in row.row.records]
    if not any(summaries):
        return Entry("none needed", mark="muted", number=True)
    epochs = "/".join(str(one.get("epochs", "?")) for one in summaries)
    seconds = _mean([float(one.get("seconds", 0.0)) for one in summaries])
    used = [float(one["cpu_seconds"]) for one in summaries if "cpu_seconds" in one]
    processor = (f"{_mean(used):.0f} s of processor",) if used else ()
    return Entry(f"{seconds:.0f} s", (*processor, f"{epochs} epochs"), number=True)


def _plain(summary: SectionSummary, beside: PublishedTable | None) -> tuple[tuple[str, ...], ...]:
    metrics = summary.runs.metrics()
    columns = ["row", "model"]
    for name in metrics:
        columns += [name, f"{name} low", f"{name} high", f"{name} sd over seeds", f"{name} published"]
    columns += ["difference", "difference low", "difference high", "low with luck", "high with luck"]
    columns += ["p", "verdict", "seeds", "training", "users/s"]
    lines = [tuple(columns)]
    for row in summary.rows:
        line = [row.row.label, row.row.model]
        for name in metrics:
            found = row.figures.get(name)
            ours = [_NOT_MEASURED] * 4
            if found is not None:
                numbers = (found.value, found.interval.low, found.interval.high, found.spread)
                ours = [f"{number:.6f}" for number in numbers]
            line += [*ours, _published(None if beside is None else beside.rows.get(row.row.label, {}).get(name))]
        lines.append(
            (
                *line,
                *_plain_difference(row, summary.runs.section.compared_with),
                _seeds(row),
                *(entry.text for entry in _costs(row)),
            )
        )
    return tuple(lines)


def _plain_difference(row: RowSummary, base: str) -> tuple[str, ...]:
    if row.against is None:
        return ("baseline" if row.row.label == base else _NOT_MEASURED,) * 7
    found = row.against
    luck = (
        ("one seed",) * 2 if found.with_luck is None else (f"{found.with_luck.low:.6f}", f"{found.with_luck.high:.6f}")
    )
    numbers = (found.difference, found.interval.low, found.interval.high)
    return (*(f"{number:.6f}" for number in numbers), *luck, f"{found.p:.3g}", found.verdict)


def _seeds(row: RowSummary) -> str:
    return " ".join(str(record.seed) for record in row.row.records) or _NOT_MEASURED


def _note(summary: SectionSummary, beside: PublishedTable | None) -> str:
    runs = summary.runs
    users = next((row.test[0].users for row in runs.measured), 0)
    marks = "Bold: best, underlined: second. Beneath each figure its 95 % interval over users."
    seeds = ", ".join(str(seed) for seed in runs.plan.seeds[: runs.section.n_seeds])
    budget = runs.plan.budget_words(runs.section)
    seen = f"a user's own items {SEEN[runs.plan.leaves_out_seen(runs.section)]}"
    words = f"{users:,} users, test items, full ranking, {seen}; seeds {seeds}; {budget}. {marks}"
    if beside is None:
        return f"{words} The paper prints no numbers for this experiment."
    same = runs.published_dataset == beside.dataset
    where = f"{beside.source}, {beside.dataset} (Amazon 2023)"
    other = (
        "the same data set"
        if same
        else f"another data set than {runs.dataset}: compare the order of rows, not the values"
    )
    return f"{words} “paper”: {where}, {other}."


def heading(metric: str) -> str:
    name, _, k = metric.partition("@")
    return f"{'NDCG' if name == 'ndcg' else name.capitalize()}@{k}"


def _signed(found: Against) -> str:
    return f"{found.difference:+.4f}"


def _published(value: float | None) -> str:
    return "not published" if value is None else f"{value:.4f}"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)

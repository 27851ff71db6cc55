"""Every row against chosen rows, on the same users: how large a lead is and whether it could be chance."""

from __future__ import annotations

from itertools import product

from sidrec.core.pages.tables import Entry, Mark, Table
from sidrec.pipeline.benchmark.plan import BEST
from sidrec.reports.section_tables import beneath, heading
from sidrec.reports.summary import Against, SectionSummary, compare_pairs

NOTE = (
    "Row minus reference, paired over users and averaged over seeds: difference, 95 % bootstrap interval, p of the "
    "paired t-test after Holm's correction over the column's rows and references."
)
_MARKS: dict[str, Mark] = {"better": "good", "worse": "bad"}
_PLAIN = ("row", "against", "metric", "difference", "low", "high", "p", "verdict")


def against_table(name: str, summary: SectionSummary) -> Table:
    """One line for each row and reference, by Recall and NDCG at the deepest k."""
    runs = summary.runs
    references = references_of(summary)
    pairs = [pair for pair in product([row.label for row in runs.rows], references) if pair[0] != pair[1]]
    metrics = [metric for metric in runs.metrics() if metric.endswith(f"@{max(runs.plan.ks)}")]
    found = {metric: compare_pairs(runs, pairs, metric) for metric in metrics}
    rows = tuple(
        (Entry(row), Entry(other), *(_difference(found[metric][place]) for metric in metrics))
        for place, (row, other) in enumerate(pairs)
    )
    plain = [(*pair, m, *_figures(found[m][place])) for place, pair in enumerate(pairs) for m in metrics]
    columns = ("row", "against", *(heading(metric) for metric in metrics))
    return Table(name, columns, rows, (_PLAIN, *plain), NOTE)


def references_of(summary: SectionSummary) -> list[str]:
    """The section's labels, each once; `best` by its name, where anything was measured."""
    order = summary.ranked(summary.runs.judge)
    named = [order[:1] if label == BEST else [label] for label in summary.runs.section.against]
    return list(dict.fromkeys(label for labels in named for label in labels))


def _difference(found: Against | None) -> Entry:
    if found is None:
        return Entry("not measured", mark="muted", number=True)
    return Entry(f"{found.difference:+.4f}", beneath(found), _MARKS.get(found.verdict, ""), number=True)


def _figures(found: Against | None) -> tuple[str, ...]:
    if found is None:
        return ("not measured",) * 5
    numbers = (found.difference, found.interval.low, found.interval.high)
    return (*(f"{number:.6f}" for number in numbers), f"{found.p:.3g}", found.verdict)

"""The charts of one section: rows with intervals, and how the models behind them learned."""

from __future__ import annotations

from pathlib import Path

from sidrec.core.checked_files import read_json_lines
from sidrec.reports.charts import Bar, Line, Point, bar_chart, line_chart
from sidrec.reports.summary import SectionSummary

_VALIDATION = "validation/"


def result_charts(summary: SectionSummary) -> list[str]:
    """Recall and NDCG at the deepest k: a curve where rows lie on an axis, bars elsewhere."""
    section = summary.runs.section
    measured = [row for row in summary.rows if row.figures]
    deepest = max(summary.runs.plan.ks)
    charts = []
    for metric, title in ((f"recall@{deepest}", f"Recall@{deepest}"), (f"ndcg@{deepest}", f"NDCG@{deepest}")):
        if not measured or metric not in measured[0].figures:
            continue
        if section.axis and all(row.row.x is not None for row in measured):
            found = sorted((row.row.x or 0.0, row.figures[metric]) for row in measured)
            points = tuple(Point(x, one.value, one.interval.low, one.interval.high) for x, one in found)
            charts.append(line_chart(title, [Line(section.title, points)], section.axis))
        else:
            bars = [
                Bar(
                    row.row.label,
                    one.value,
                    one.interval.low,
                    one.interval.high,
                    row.row.label == section.compared_with,
                )
                for row in measured
                for one in [row.figures[metric]]
            ]
            charts.append(bar_chart(title, bars))
    return charts


def learning_chart(summary: SectionSummary) -> str | None:
    """The validation figure after each epoch, one curve per model (first seed); none where all rows share a model."""
    lines, seen, name = [], set(), ""
    for row in summary.rows:
        if not row.row.records or row.row.records[0].model in seen:
            continue
        seen.add(row.row.records[0].model)
        history = read_history(summary.runs.out / row.row.records[0].model)
        names = [key for entry in history for key in entry if key.startswith(_VALIDATION)]
        if names:
            name = names[0]
            points = tuple(Point(entry["epoch"], entry[name]) for entry in history if name in entry)
            lines.append(Line(row.row.label, points))
    if len(lines) < 2 or max(len(line.points) for line in lines) < 2:
        return None
    return line_chart(
        f"Learning: {name.removeprefix(_VALIDATION)} on validation", lines, "epoch", width=700, height=300
    )


def read_history(model: Path) -> list[dict[str, float]]:
    """The training record of a saved model; empty for models that are not trained in epochs."""
    file = model / "history.jsonl"
    if not file.is_file():
        return []
    return [entry for entry in read_json_lines(file, dict[str, float]) if "epoch" in entry]

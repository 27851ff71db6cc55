"""What was run: plans, budgets, seeds, data and what went wrong."""

from __future__ import annotations

from sidrec.core.pages.tables import Entry, Table
from sidrec.reports.published import published
from sidrec.reports.runs import Benchmark

_SCALES = {
    "tiny": "shows that everything runs; its figures are no evidence for or against a method",
    "small": "narrower networks and fewer epochs than published, so what is missing may be training",
    "paper": "the published widths and epochs",
}
SEEN = {False: "kept among the candidates", True: "left out of the candidates"}
_COLUMNS = ("data set", "origin", "users", "items", "interactions", "sparsity", "average length")


def facts(benchmark: Benchmark) -> list[tuple[str, str]]:
    """The protocol in plain words."""
    plan, records = benchmark.plan, benchmark.records
    models = {record.model: record for record in records}
    trained = sum(float(record.training.get("seconds", 0.0)) for record in models.values())
    left_out = {plan.leaves_out_seen(section) for section in plan.section}
    seen = " or, in other sections, ".join(SEEN[way] for way in sorted(left_out))
    return [
        ("plan", plan.title),
        ("scale", f"{plan.scale}: {_SCALES[plan.scale]}"),
        ("budget", plan.budgets_in_words()),
        ("seeds", ", ".join(str(seed) for seed in plan.seeds)),
        ("ranking", f"full catalogue, no sampled negatives; a user's own items are {seen}"),
        ("a hit", "the item itself, not an equal ID"),
        (
            "intervals",
            "95 %, bootstrap over users; differences by paired t-test (Holm) and paired bootstrap, and where rows were "
            "trained with several seeds also by what a seed changes (pooled over the section)",
        ),
        ("work", f"{len(records)} cells from {len(models)} trained models, {trained / 60:.1f} minutes of training"),
    ]


def data_table(benchmarks: list[Benchmark]) -> Table:
    """Our data sets and the paper's."""
    lines: dict[tuple[str, ...], bool] = {}
    for bench in benchmarks:
        for name in bench.plan.datasets:
            found = bench.data(name).statistics()
            counts = (found.users, found.items, found.interactions)
            lines[_line(name, "here", counts, found.sparsity, found.average_length)] = True
    for name, row in published().data.items():
        counts = (int(row["users"]), int(row["items"]), int(row["interactions"]))
        lines[_line(name, f"paper: {row['origin']}", counts, float(row["sparsity"]), float(row["average_length"]))] = (
            False
        )
    rows = tuple(
        tuple(Entry(text, mark="" if ours else "muted", number=column > 1) for column, text in enumerate(line))
        for line, ours in lines.items()
    )
    return Table("data", _COLUMNS, rows, (_COLUMNS, *lines))


def _line(name: str, origin: str, counts: tuple[int, int, int], sparsity: float, length: float) -> tuple[str, ...]:
    return (name, origin, *(f"{count:,}" for count in counts), f"{sparsity:.3%}", f"{length:.2f}")

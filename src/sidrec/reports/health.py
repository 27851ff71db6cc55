"""The health of the semantic IDs behind a benchmark: one row per set of IDs."""

from __future__ import annotations

from dataclasses import dataclass

from sidrec.core.checked_files import read_json
from sidrec.core.pages.tables import Entry, Table
from sidrec.reports.runs import Benchmark
from sidrec.sids.tokenized_items import REPORT_FILE

_COLUMNS = (
    "data",
    "tokenizer",
    "items",
    "colliding before",
    "colliding after",
    "moved",
    "codes in use",
    "perplexity per codebook",
    "reconstruction error",
    "neighbours agree",
    "seconds",
)
_NOTE = (
    "Colliding: items that share their ID before and after collisions are resolved. Reconstruction error: share of "
    "the vectors' variance that is lost. Neighbours agree: share of an item's nearest by vector that are also nearest "
    "by codes."
)


def health_table(benchmark: Benchmark) -> Table | None:
    """None where no model of the benchmark has semantic IDs of the shared kind."""
    directories = {record.sids: record.dataset for record in benchmark.records if record.sids}
    lines = []
    for directory, dataset in directories.items():
        file = benchmark.out / directory / REPORT_FILE
        if file.is_file():
            lines.append(read_json(file, _Health).line(dataset))
    if not lines:
        return None
    rows = tuple(tuple(Entry(text, number=column > 1) for column, text in enumerate(line)) for line in lines)
    return Table("tokenizer-health", _COLUMNS, rows, (_COLUMNS, *lines), _NOTE)


@dataclass(frozen=True)
class _Health:
    """The figures of a report that are shown."""

    tokenizer: str
    items: int
    collisions_before: int
    collisions_after: int
    moved_items: int
    used_codes: int
    codes: int
    perplexity_per_codebook: list[float]
    reconstruction_error: float
    neighbour_agreement: float
    seconds: float

    def line(self, dataset: str) -> tuple[str, ...]:
        counts = (self.items, self.collisions_before, self.collisions_after, self.moved_items)
        return (
            dataset,
            self.tokenizer,
            *(f"{count:,}" for count in counts),
            f"{self.used_codes:,} of {self.codes:,}",
            " / ".join(f"{value:.0f}" for value in self.perplexity_per_codebook),
            f"{self.reconstruction_error:.3f}",
            f"{self.neighbour_agreement:.1%}",
            f"{self.seconds:.1f}",
        )

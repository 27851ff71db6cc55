"""The health of the semantic IDs behind a benchmark: one row per set of IDs."""

from __future__ import annotations

import json
from typing import Any

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
            lines.append(_line(dataset, json.loads(file.read_text(encoding="utf-8"))))
    if not lines:
        return None
    rows = tuple(tuple(Entry(text, number=column > 1) for column, text in enumerate(line)) for line in lines)
    return Table("tokenizer-health", _COLUMNS, rows, (_COLUMNS, *lines), _NOTE)


def _line(dataset: str, report: dict[str, Any]) -> tuple[str, ...]:
    return (
        dataset,
        str(report["tokenizer"]),
        f"{report['items']:,}",
        f"{report['collisions_before']:,}",
        f"{report['collisions_after']:,}",
        f"{report['moved_items']:,}",
        f"{report['used_codes']:,} of {report['codes']:,}",
        " / ".join(f"{value:.0f}" for value in report["perplexity_per_codebook"]),
        f"{report['reconstruction_error']:.3f}",
        f"{report['neighbour_agreement']:.1%}",
        f"{report['seconds']:.1f}",
    )

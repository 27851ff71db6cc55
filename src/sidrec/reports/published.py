"""Published figures as data: the paper's tables and conclusions, and what others measured."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

FILE = "paper_numbers.toml"
PAPER = "LLaDA-Rec paper"
SHOWN_ELSEWHERE = "Scientific"
"""The paper's data set that is shown beside data of ours that nobody has published on."""


@dataclass(frozen=True)
class PublishedTable:
    """One published table: row name -> metric -> value."""

    source: str
    section: str
    dataset: str
    rows: Mapping[str, Mapping[str, float]]

    @property
    def of_the_paper(self) -> bool:
        return self.source.startswith(PAPER)


@dataclass(frozen=True)
class Claim:
    """A conclusion of the paper, as pairs of rows (better, worse)."""

    section: str
    text: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Published:
    tables: tuple[PublishedTable, ...]
    claims: tuple[Claim, ...]
    data: Mapping[str, Mapping[str, float | str]]

    def beside(self, section: str, dataset: str | None) -> PublishedTable | None:
        """The paper's table to show beside a section: of the same data where there is one."""
        found = {table.dataset: table for table in self.tables if table.section == section and table.of_the_paper}
        return found.get(dataset or "") or found.get(SHOWN_ELSEWHERE)

    def by_others(self, section: str, dataset: str | None) -> list[PublishedTable]:
        """What others measured on the very same data."""
        return [t for t in self.tables if (t.section, t.dataset) == (section, dataset) and not t.of_the_paper]

    def claim(self, section: str) -> Claim | None:
        return next((claim for claim in self.claims if claim.section == section), None)


@cache
def published() -> Published:
    """The figures of the package."""
    values = tomllib.loads(resources.files("sidrec.reports").joinpath(FILE).read_text(encoding="utf-8"))
    tables = tuple(
        PublishedTable(
            table["source"],
            table["section"],
            table["dataset"],
            {row: dict(zip(table["metrics"], figures, strict=True)) for row, figures in table["rows"].items()},
        )
        for table in values["table"]
    )
    claims = tuple(
        Claim(claim["section"], claim["text"], tuple((better, worse) for better, worse in claim["pairs"]))
        for claim in values["claim"]
    )
    return Published(tables, claims, values["data"])

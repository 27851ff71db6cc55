"""The health report as one page that needs nothing else: plots are inline SVG, no script, nothing fetched."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sidrec.core.artifacts import Origin, open_artifact
from sidrec.core.errors import ArtifactError
from sidrec.core.pages.blocks import Charts, Facts, Heading, Words
from sidrec.core.pages.fill import fill
from sidrec.core.pages.page import PageBlock, render_page
from sidrec.core.pages.tables import Entry, Table
from sidrec.sids.base import Codes
from sidrec.sids.tokenized_items import REPORT_FILE, TokenizedItems

if TYPE_CHECKING:
    from markupsafe import Markup

_COMPARED = (
    ("tokenizer", "tokenizer"),
    ("collision_rate_before", "collision rate before"),
    ("used_codes", "codes used"),
    ("reconstruction_error", "reconstruction error"),
    ("reconstruction_error_vectors", "in the item vectors"),
    ("neighbour_agreement", "neighbour agreement"),
    ("fit_seconds", "seconds to fit"),
)
_BARS = Words(
    "Each bar is a code, the most used first. Perplexity is the number of codes it would take if all were used alike.",
    "note",
)


@dataclass(frozen=True)
class SharedCodes:
    """Pairs of items that share codes: (codes shared, each code of the first and whether it is shared, titles)."""

    pairs: list[tuple[int, list[tuple[int, bool]], str, str]]

    def html(self) -> Markup:
        return fill("shared_codes.html", "sidrec.sids", pairs=self.pairs)


def render(tokenized: TokenizedItems, titles: Sequence[str], others: Sequence[dict[str, Any]] = ()) -> str:
    """The page; `titles` name the items, `others` are reports of other tokenizers on the same vectors."""
    report, ids = tokenized.report, tokenized.ids
    facts = (
        ("tokenizer", str(report["tokenizer"])),
        ("codes per item", f"{len(ids.codebook_sizes)} ({' x '.join(str(size) for size in ids.codebook_sizes)})"),
        ("collisions", str(report["collision_policy"])),
    )
    blocks: list[PageBlock] = [
        Facts(facts),
        Heading("Collisions", "collisions"),
        _collisions(report),
        Heading("Use of the codebooks", "codebooks"),
        _codebooks(report),
        Charts((_histograms(ids.codes, ids.codebook_sizes),), "codebooks"),
        _BARS,
        Heading("What the codes keep", "quality"),
        _quality(report, others),
        Heading("Items that share codes", "shared"),
        _shared_codes(ids.codes, titles),
    ]
    return render_page(f"Semantic IDs of {report['items']:,} items", blocks)


def siblings(out: Path, origin: Origin) -> list[dict[str, Any]]:
    """Reports of finished semantic IDs beside `out` that were made from the same vectors."""
    reports = []
    for path in sorted(out.parent.iterdir()) if out.parent.is_dir() else []:
        try:
            artifact = open_artifact(path, "sids", verify=False) if path != out and path.is_dir() else None
        except ArtifactError:
            continue
        if artifact is not None and artifact.made_from == dict(origin.made_from):
            reports.append(artifact.json(REPORT_FILE))
    return reports


def _collisions(report: dict[str, Any]) -> Table:
    rows = [
        ("items", report["items"]),
        ("different IDs", report["unique_ids"]),
        ("items sharing their ID: nearest codes", report["collisions_before"]),
        ("items sharing their ID: after the policy", report["collisions_after"]),
        ("collision rate before (1 - different IDs / items)", report["collision_rate_before"]),
        ("items moved to another ID", report["moved_items"]),
        ("items with the same text (vector) as another", report["identical_vectors"]),
        ("items without text", report["items_without_text"]),
    ]
    return _table("collisions", ("", ""), rows)


def _codebooks(report: dict[str, Any]) -> Table:
    rows = zip(
        range(1, len(report["codebook_sizes"]) + 1),
        report["codebook_sizes"],
        report["used_per_codebook"],
        report["perplexity_per_codebook"],
        strict=True,
    )
    return _table("codebooks", ("codebook", "codes", "used", "perplexity"), rows)


def _quality(report: dict[str, Any], others: Sequence[dict[str, Any]]) -> Table:
    rows = [[each.get(key, "") for key, _ in _COMPARED] for each in (report, *others)]
    note = (
        "Reconstruction error: squared error of the nearest codes as a share of the variance, in the space the "
        "tokenizer works in (PCA and whitening as set) and in the item vectors themselves. Neighbour agreement: share "
        "of an item's 10 nearest items by vector that are among the 10 with most codes in common "
        f"(by chance {report['neighbour_agreement_by_chance']:.4f}). "
        "Other tokenizers appear where their IDs stand in the same folder and come from the same vectors."
    )
    return _table("quality", [name for _, name in _COMPARED], rows, note)


def _shared_codes(codes: Codes, titles: Sequence[str]) -> PageBlock:
    pairs = []
    for wanted in range(1, min(codes.shape[1], 4)):
        for item, other in shared_pairs(codes, wanted):
            shown = [(int(mine), bool(mine == its)) for mine, its in zip(codes[item], codes[other], strict=True)]
            pairs.append((wanted, shown, titles[item], titles[other]))
    return SharedCodes(pairs) if pairs else Words("No two items share a code.")


def shared_pairs(codes: Codes, wanted: int, n_pairs: int = 4, n_tries: int = 200) -> list[tuple[int, int]]:
    """Pairs of items with exactly `wanted` codes in common, from items spread over the catalogue."""
    pairs = []
    for item in np.unique(np.linspace(0, len(codes) - 1, n_tries).astype(np.int64)):
        shared = (codes == codes[item]).sum(axis=1)
        shared[item] = -1
        found = np.flatnonzero(shared == wanted)
        if len(found):
            pairs.append((int(item), int(found[0])))
        if len(pairs) == n_pairs:
            break
    return pairs


def _histograms(codes: Codes, sizes: tuple[int, ...]) -> str:
    """How often each code is used, a panel per codebook, at most 8."""
    import matplotlib
    from matplotlib.figure import Figure

    shown = min(len(sizes), 8)
    with matplotlib.rc_context({"svg.hashsalt": "sidrec", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(9, 2.0 * -(-shown // 4)), layout="constrained")
        panels = figure.subplots(-(-shown // 4), min(shown, 4), squeeze=False).flat
        for slot, panel in zip(range(shown), panels, strict=False):
            counts = np.sort(np.bincount(codes[:, slot], minlength=sizes[slot]))[::-1]
            panel.fill_between(np.arange(len(counts)), counts, step="mid", color="#2f6f9f")
            panel.set_title(f"codebook {slot + 1}")
            panel.set_ylim(bottom=0)
        for panel in panels:
            panel.set_axis_off()
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(buffer.getvalue())


def _inline(svg: str) -> str:
    """Only the element itself, without the references to outside vocabularies a file of its own has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    return re.sub(r'\s(xmlns:[a-z]+|version)="[^"]*"', "", svg).replace("xlink:href", "href")


def _table(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> Table:
    return Table(name, tuple(columns), tuple(tuple(_entry(value) for value in row) for row in rows), note=note)


def _entry(value: object) -> Entry:
    if isinstance(value, int | float):
        return Entry(f"{value:,}" if isinstance(value, int) else f"{value:.4g}", number=True)
    return Entry(str(value))

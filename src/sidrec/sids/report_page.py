"""The health report as one page that needs nothing else: plots are inline SVG, no script, nothing fetched."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sidrec.core.artifacts import Origin, open_artifact
from sidrec.core.errors import ArtifactError
from sidrec.sids.base import Codes
from sidrec.sids.tokenized_items import REPORT_FILE, TokenizedItems

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1c2733; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .6rem 0; }
td, th { padding: .25rem .8rem; border-bottom: 1px solid #d5dde5; }
th { text-align: left; } td.id { white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code { background: #eef2f6; padding: 0 .3em; } svg { max-width: 100%; height: auto; } p.note { color: #52606d; }
"""
_COMPARED = (
    ("tokenizer", "tokenizer"),
    ("collision_rate_before", "collision rate before"),
    ("used_codes", "codes used"),
    ("reconstruction_error", "reconstruction error"),
    ("reconstruction_error_vectors", "in the item vectors"),
    ("neighbour_agreement", "neighbour agreement"),
    ("fit_seconds", "seconds to fit"),
)


def render(tokenized: TokenizedItems, titles: Sequence[str], others: Sequence[dict[str, Any]] = ()) -> str:
    """The page; `titles` name the items, `others` are reports of other tokenizers on the same vectors."""
    report = tokenized.report
    sections = [
        f"<h1>Semantic IDs of {report['items']:,} items</h1>",
        f"<p>Tokenizer <code>{_text(report['tokenizer'])}</code>, {len(tokenized.ids.codebook_sizes)} codes per item "
        f"({_text(' x '.join(str(size) for size in tokenized.ids.codebook_sizes))}), "
        f"collisions: <code>{_text(report['collision_policy'])}</code>.</p>",
        "<h2>Collisions</h2>",
        _collisions(report),
        "<h2>Use of the codebooks</h2>",
        _codebooks(report),
        _histograms(tokenized.ids.codes, tokenized.ids.codebook_sizes),
        "<p class='note'>Each bar is a code, the most used first. Perplexity is the number of codes it would take "
        "if all were used alike.</p>",
        "<h2>What the codes keep</h2>",
        _quality(report, others),
        "<h2>Items that share codes</h2>",
        _examples(tokenized.ids.codes, titles),
    ]
    body = "\n".join(sections)
    head = f"<meta charset='utf-8'><title>Semantic IDs</title><style>{_STYLE}</style>"
    return f"<!doctype html>\n<html lang='en'>{head}\n{body}\n</html>\n"


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


def _collisions(report: dict[str, Any]) -> str:
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
    return _table(("", ""), rows)


def _codebooks(report: dict[str, Any]) -> str:
    rows = zip(
        range(1, len(report["codebook_sizes"]) + 1),
        report["codebook_sizes"],
        report["used_per_codebook"],
        report["perplexity_per_codebook"],
        strict=True,
    )
    return _table(("codebook", "codes", "used", "perplexity"), rows)


def _quality(report: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    rows = [[each.get(key, "") for key, _ in _COMPARED] for each in (report, *others)]
    note = (
        "<p class='note'>Reconstruction error: squared error of the nearest codes as a share of the variance, in the "
        "space the tokenizer works in (PCA and whitening as set) and in the item vectors themselves. Neighbour "
        "agreement: share of an item's 10 nearest items by vector that are among the 10 with most codes in common "
        f"(by chance {report['neighbour_agreement_by_chance']:.4f}). "
        "Other tokenizers appear where their IDs stand in the same folder and come from the same vectors.</p>"
    )
    return _table([name for _, name in _COMPARED], rows) + note


def _examples(codes: Codes, titles: Sequence[str]) -> str:
    rows = []
    for wanted in range(1, min(codes.shape[1], 4)):
        for item, other in shared_pairs(codes, wanted):
            pair = zip(codes[item], codes[other], strict=True)
            shown = " ".join(f"<b>{mine}</b>" if mine == its else str(mine) for mine, its in pair)
            cells = f"<td class='id'>{shown}</td><td>{_text(titles[item])}</td><td>{_text(titles[other])}</td>"
            rows.append(f"<tr><td class='number'>{wanted}</td>{cells}</tr>")
    head = "<tr><th>codes shared</th><th>ID</th><th>item</th><th>shares them with</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>" if rows else "<p>No two items share a code.</p>"


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


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{_text(name)}</th>" for name in head) + "</tr>"] if any(head) else []
    for row in rows:
        cells = (
            f"<td class='number'>{_number(value)}</td>"
            if isinstance(value, int | float)
            else f"<td>{_text(value)}</td>"
            for value in row
        )
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return f"<table>{''.join(lines)}</table>"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _text(value: object) -> str:
    return html.escape(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

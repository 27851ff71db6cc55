"""docs/settings.md is what the code says."""

from __future__ import annotations

from pathlib import Path

from sidrec.models.registry import MODELS
from sidrec.reports.settings_page import settings_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page(), "run: sidrec models --markdown > docs/settings.md"


def test_it_has_every_model_and_their_own_defaults() -> None:
    page = settings_page()
    assert all(f"\n### {row.key}\n" in page for row in MODELS)
    plus = page.partition("\n### llada-rec-plus\n")[2].partition("\n### ")[0]
    assert "| `training.epochs` | 20 |" in plus
    assert "| `embedding.encoder` |" not in plus
    assert "| `embedding.encoder` | minilm |" in page

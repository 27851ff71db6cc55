from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reference.html_check import PageReader
from sidrec.embeddings.item_embeddings import ItemEmbeddings
from sidrec.sids.report_page import render, shared_pairs
from sidrec.sids.tokenize import TokenizeSettings, tokenize


def items() -> ItemEmbeddings:
    vectors = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    return ItemEmbeddings([f"i{item}" for item in range(60)], vectors, np.zeros(60, bool), fingerprint="same")


def settings(tokenizer: str) -> TokenizeSettings:
    return TokenizeSettings(tokenizer=tokenizer, options={"codebook_size": 6, "n_codes": 4})


def test_page_shows_figures_titles_and_fetches_nothing() -> None:
    result = tokenize(items(), settings("rq-kmeans"))
    page = render(result, [f"Drill <{item}>" for item in range(60)])
    assert "Semantic IDs of 60 items" in page
    assert "Drill &lt;" in page and "Drill <" not in page
    assert page.count("<svg") == 1
    assert PageReader(page).tags.count("table") == 4
    for fetched in ("http://", "https://", "src=", "@import", "<script", "url("):
        assert fetched not in page.replace('xmlns="http://www.w3.org/2000/svg"', "").replace("url(#", "")


@pytest.mark.slow
def test_other_tokenizers_beside_it_are_compared(tmp_path: Path) -> None:
    tokenize(items(), settings("opq"), out=tmp_path / "opq")
    tokenize(items(), settings("rq-kmeans"), out=tmp_path / "rq")
    page = (tmp_path / "rq" / "report.html").read_text(encoding="utf-8")
    assert "<td><span>opq</span></td>" in page and "<td><span>rq-kmeans</span></td>" in page
    assert "<span>rq-kmeans</span>" not in (tmp_path / "opq" / "report.html").read_text(encoding="utf-8")


def test_pairs_share_exactly_the_wanted_codes() -> None:
    codes = np.array([[0, 0, 0], [0, 1, 1], [0, 0, 2], [3, 3, 3]], np.int32)
    assert shared_pairs(codes, 1)[0] == (0, 1)
    assert shared_pairs(codes, 2) == [(0, 2), (2, 0)]

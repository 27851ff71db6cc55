from __future__ import annotations

import csv
import re

import pytest

from sidrec.core.errors import ArtifactError, StorageError
from sidrec.reports.build import build_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(out, tmp_path_factory):
    return build_report([out], tmp_path_factory.mktemp("report") / "page")


def test_every_row_is_in_every_form(report):
    page = report.page.read_text(encoding="utf-8")
    text = (report.out / "report.md").read_text(encoding="utf-8")
    with (report.out / "main-table-shop.csv").open(encoding="utf-8") as file:
        rows = [line[0] for line in csv.reader(file)][1:]
    assert rows == ["popularity", "sasrec-ce", "llada-rec", "no room"]
    for label in rows:
        assert label in page and label in text


def test_no_cell_of_any_table_is_empty(report):
    page = report.page.read_text(encoding="utf-8")
    assert re.findall(r"<td[^>]*><span>\s*</span>", page) == []
    for file in report.out.glob("*.csv"):
        with file.open(encoding="utf-8") as lines:
            rows = list(csv.reader(lines))
        assert all(cell.strip() for row in rows for cell in row), file.name
        assert len({len(row) for row in rows}) == 1


def test_figures_traces_health_and_failures_are_on_the_page(report):
    page = report.page.read_text(encoding="utf-8")
    assert page.count("<svg") >= 5
    assert "Step 1 of 2" in page and "Health of the semantic IDs" in page
    assert 'class="warning"' in page and report.problems
    for outside in ("<script", "<link", "<img", "url("):
        assert outside not in page


def test_markdown_shows_the_same_pictures(report):
    page, text = (report.out / "index.html").read_text("utf-8"), (report.out / "report.md").read_text("utf-8")
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert len(shown) == page.count("<svg") and len(set(shown)) == len(shown)
    for name in shown:
        assert (report.out / name).read_text("utf-8") in page


def test_users_can_be_left_out(out, tmp_path):
    page = build_report([out], tmp_path / "page", n_examples=0).page.read_text("utf-8")
    assert "A few users" not in page and "Step 1 of 2" not in page


def test_several_benchmarks_become_one_report(out, tmp_path):
    found = build_report([out, out], tmp_path / "page")
    assert len(found.sections) == 4 and found.title == "Benchmarks"


def test_a_second_report_takes_the_first_ones_place_as_a_whole(out, tmp_path):
    build_report([out, out], tmp_path / "page")
    build_report([out], tmp_path / "page", n_examples=0)
    build_report([out], tmp_path / "fresh", n_examples=0)
    second, fresh = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("page", "fresh")
    )
    assert second == fresh and "manifest.json" in fresh
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "page"]


def test_a_report_is_not_made_of_a_report(report, tmp_path):
    with pytest.raises(
        ArtifactError, match="page: is a report itself; make it anew with `sidrec report` from the folder"
    ):
        build_report([report.out], tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_report_of_an_earlier_version_is_not_replaced(out, tmp_path):
    old = build_report([out], tmp_path / "old", n_examples=0).out
    (old / "manifest.json").unlink()
    with pytest.raises(
        StorageError, match=r"a report of an earlier version.*; remove the folder and make the report again"
    ):
        build_report([out], old)
    assert (old / "report.md").exists()

from __future__ import annotations

import csv
import io

import pytest

from reference.html_check import PageReader
from sidrec.core.pages.tables import Entry, Table, spreadsheet_cell

TABLE = Table(
    "t",
    ("name", "figure"),
    (
        (Entry("a|b <i>"), Entry("0.5", ("0.4–0.6",), "best", number=True)),
        (Entry("c"), Entry("0.4", mark="second", number=True)),
    ),
    (("name", "figure"), ("a,b", "0.5")),
    "a note",
)


def test_html_escapes_and_marks():
    page = TABLE.html()
    assert "a|b &lt;i&gt;" in page
    assert '<td class="number best"><span>0.5</span><small>0.4–0.6</small></td>' in page
    assert '<th class="number">figure</th>' in page and "<th>name</th>" in page
    assert PageReader(page).tags.count("tr") == 3


def test_a_table_without_headings_has_no_head():
    page = Table("t", ("", ""), ((Entry("a"), Entry("1", number=True)),)).html()
    assert "<thead>" not in page and '<td class="number"><span>1</span></td>' in page


def test_markdown_marks_best_and_second():
    lines = TABLE.markdown().splitlines()
    assert lines[1] == "| --- | ---: |"
    assert lines[2] == "| a\\|b &lt;i> | **0.5** 0.4–0.6 |"
    assert lines[3] == "| c | <u>0.4</u> |"
    assert lines[-1] == "a note"


def test_csv_can_be_read_back():
    assert list(csv.reader(io.StringIO(TABLE.csv()))) == [["name", "figure"], ["a,b", "0.5"]]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        (" =cmd|' /C calc'!A0", "' =cmd|' /C calc'!A0"),
        ("-history loss", "'-history loss"),
        ("+0.0125", "+0.0125"),
        ("-3e-05", "-3e-05"),
        ("-1,204", "-1,204"),
        ("-1.5%", "-1.5%"),
        ("\t=1", "' =1"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula_to_a_spreadsheet(text, written):
    assert spreadsheet_cell(text) == written

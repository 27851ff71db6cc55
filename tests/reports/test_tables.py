from __future__ import annotations

import csv
import io

from sidrec.reports.tables import Entry, Table

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


def test_markdown_marks_best_and_second():
    lines = TABLE.markdown().splitlines()
    assert lines[1] == "| --- | ---: |"
    assert lines[2] == "| a\\|b <i> | **0.5** 0.4–0.6 |"
    assert lines[3] == "| c | <u>0.4</u> |"
    assert lines[-1] == "a note"


def test_csv_can_be_read_back():
    assert list(csv.reader(io.StringIO(TABLE.csv()))) == [["name", "figure"], ["a,b", "0.5"]]

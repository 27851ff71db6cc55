"""CSV and TSV records."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from sidrec.core.errors import InputError
from sidrec.data.readers import chunks
from sidrec.data.readers.delimited import BARE_TSV, CSV, TSV, Dialect, csv_dialect, header, read_delimited


def rows(path: Path, dialect: Dialect = CSV) -> list[tuple[str | None, ...]]:
    return pl.concat([batch.frame for batch in read_delimited(path, dialect)]).rows()


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_values_are_strings_as_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'id,title\r\n007,"Tea, green\nfresh"\r\n1e5,"say ""hi"""\r\nNA,\r\n')
    assert rows(path) == [("007", "Tea, green\nfresh"), ("1e5", 'say "hi"'), ("NA", None)]


def test_quotes_mean_nothing_in_bare_files(tmp_path: Path) -> None:
    path = write(tmp_path / "a.inter", 'id\ttitle\n1\t12" disc\n2\tab"c\n')
    assert rows(path, BARE_TSV) == [("1", '12" disc'), ("2", 'ab"c')]
    assert rows(write(tmp_path / "a.tsv", 'id\ttitle\n1\t"x\ty"\n'), TSV) == [("1", "x\ty")]


def test_row_numbers_go_on_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.csv", "a,b\n" + "".join(f"{n},x\n" for n in range(50)))
    small = chunks.chunks
    monkeypatch.setattr(
        "sidrec.data.readers.delimited.chunks", lambda path, quoted: small(path, quoted=quoted, block=40)
    )
    batches = list(read_delimited(path, CSV))
    assert len(batches) > 3
    for batch in batches:
        assert batch.position.at(0) == f"{path}, row {int(batch.frame['a'][0]) + 2}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3,4,5\n", r"a.csv, row 3: has 3 fields, the header has 2"),
        ("a,b,c\n1,2,3\n1,2\n", r"a.csv, row 3: has 2 fields, the header has 3"),
        ('a,b,c\n1,"2,3",\n1,2\n', r"a.csv, row 3: has 2 fields, the header has 3"),
        ('a,b,c\nu,a"x,1\nu,b,2\nu,c,3\n', r"a.csv, row 2 or one of the 3 rows from there: has a quotation mark"),
        ("\n1,2\n", r"a.csv, row 1: has no column names"),
        ("a,a\n1,2\n", r"the column 'a' appears twice"),
    ],
)
def test_ragged_rows_and_bad_headers(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rows(write(tmp_path / "a.csv", text))


def test_empty_lines_at_the_end_are_nothing(tmp_path: Path) -> None:
    assert rows(write(tmp_path / "a.csv", "a,b\r\n1,2\r\n\r\n\r\n")) == [("1", "2")]


def test_empty_last_fields_are_not_ragged(tmp_path: Path) -> None:
    assert rows(write(tmp_path / "a.csv", "a,b\n1,\n2,\n")) == [("1", None), ("2", None)]
    assert header(tmp_path / "a.csv", CSV) == ["a", "b"]


@pytest.mark.parametrize(
    ("header_line", "separator"),
    [
        ("a,b,c", ","),
        ("Artikel;Größe;Preis, EUR", ";"),
        ('"a;b;c;d",b', ","),
        ("a\tb", "\t"),
        ("alone", ","),
        ("a,b;c", ","),
    ],
)
def test_the_header_tells_what_separates_a_csv(tmp_path: Path, header_line: str, separator: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"{header_line}\n", encoding="utf-8")
    assert csv_dialect(path).separator == separator

"""`sequences.tsv`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.core.errors import InputError
from sidrec.data.readers.columns import Columns
from sidrec.data.readers.sequences import read_sequences, sequence_source


def test_lines_become_rows_that_know_their_line(tmp_path: Path) -> None:
    path = tmp_path / "sequences.tsv"
    path.write_text("1\t3 4\n2\t5\n", encoding="utf-8")
    (batch,) = read_sequences(path)
    assert batch.frame.rows() == [("1", "3"), ("1", "4"), ("2", "5")]
    assert [batch.position.at(row) for row in range(3)] == [f"{path}, row {line}" for line in (1, 1, 2)]
    assert sequence_source(path, None, Columns()).files == (path,)


@pytest.mark.parametrize(
    ("text", "message"),
    [("1\t3 4\n2 5\n", "row 2: needs a user, a TAB"), ("1\t3\n1\t4\n", "row 2: user '1' has a line already")],
)
def test_bad_lines(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "sequences.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        list(read_sequences(path))

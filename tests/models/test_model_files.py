"""What is said around a training."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidrec.data.synthetic import cycle
from sidrec.models.model_files import said_when_stopped
from sidrec.models.popularity import Popularity

DATA = cycle(n_items=10, n_users=20, length=5)


class Notes:
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (None, "stopped: nothing is kept; with out=DIRECTORY a training can be stopped and gone on with."),
        (Path("m"), "stopped: the unfinished training for m is kept; the same fit(data, out=...) goes on from there."),
    ],
)
def test_ctrl_c_says_what_is_kept(out: Path | None, words: str) -> None:
    notes = Notes()
    with pytest.raises(KeyboardInterrupt), said_when_stopped(out, notes):  # type: ignore[arg-type]
        raise KeyboardInterrupt
    assert notes.said == [words]


def test_progress_is_shown_unless_it_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Popularity, "_fit", lambda self, data, workdir, progress: progress.note("learning"))
    Popularity().fit(DATA)
    assert capsys.readouterr().err == "learning\n"
    Popularity().fit(DATA, progress=False)
    assert capsys.readouterr().err == ""

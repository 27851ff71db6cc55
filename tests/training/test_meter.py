from __future__ import annotations

import json

import pytest

from sidrec.training import meter
from sidrec.training.meter import HistoryFile, Meter


class Bar:
    def __init__(self) -> None:
        self.calls: list[tuple[int, dict[str, float | str]]] = []

    def advance(self, amount: int = 1, **figures: float | str) -> None:
        self.calls.append((amount, figures))


def test_steps_are_gathered_and_none_is_lost(monkeypatch):
    clock = iter([0.0, 0.1, 0.5, 0.6])
    monkeypatch.setattr(meter.time, "monotonic", lambda: next(clock))
    bar = Bar()
    shown = Meter(bar, done=100)
    for loss in (3.0, 2.0, 1.0):
        shown.step(8, "1/2", {"loss": loss, "loss/history": 0.5, "gradient_norm": 9.0})
    shown.close()
    assert bar.calls == [
        (100, {}),
        (16, {"epoch": "1/2", "loss": 2.0, "history": 0.5, "samples/s": pytest.approx(32.0)}),
        (8, {}),
    ]


def test_history_begins_anew_from_the_resumed_epochs(tmp_path):
    (tmp_path / "history.jsonl").write_text('{"epoch": 1}\n{"epoch": 2}\n{"epo')
    file = HistoryFile(tmp_path, [{"epoch": 1}])
    file.add({"epoch": 2, "loss": 0.5})
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert lines == [{"epoch": 1}, {"epoch": 2, "loss": 0.5}]


def test_without_a_place_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    HistoryFile(None, []).add({"epoch": 1})
    assert list(tmp_path.iterdir()) == []

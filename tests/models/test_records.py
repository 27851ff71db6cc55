"""What a saved model keeps of its training."""

from __future__ import annotations

from pathlib import Path

from sidrec.core.artifacts import Origin, opened, write
from sidrec.models.records import Records


def test_a_trackers_logs_survive_saving_and_loading(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "sasrec").mkdir(parents=True)
    (work / "sasrec" / "events.out.tfevents.1.host").write_bytes(b"curves")
    (work / "history.jsonl").write_bytes(b"{}\n")
    records = Records.in_work(work)
    for name in ("model", "again"):
        with write(tmp_path / name, Origin("model")) as directory:
            records.write(directory, with_state=False)
        assert (tmp_path / name / "tensorboard" / "events.out.tfevents.1.host").read_bytes() == b"curves"
        with opened(tmp_path / name, "model") as artifact:
            records = Records.of(artifact)
    assert sorted(records.files) == ["history.jsonl", "tensorboard/events.out.tfevents.1.host"]

from sidrec.training import clock
from sidrec.training.clock import Clock


def test_both_times_go_on_from_what_was_used_before(monkeypatch):
    now = {"wall": 100.0, "processor": 7.0}
    monkeypatch.setattr(clock.time, "monotonic", lambda: now["wall"])
    monkeypatch.setattr(clock.time, "process_time", lambda: now["processor"])
    ours = Clock()
    now |= {"wall": 110.0, "processor": 9.0}
    assert (ours.seconds, ours.cpu_seconds) == (10.0, 2.0)
    ours.go_on(50.0, 20.0)
    now |= {"wall": 111.0, "processor": 9.5}
    assert (ours.seconds, ours.cpu_seconds) == (51.0, 20.5)

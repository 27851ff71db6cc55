"""THE loop against a plain one written out here, and what happens when things go wrong."""

from __future__ import annotations

import json
import math

import pytest
import torch

from reference.toy_task import QUICK, Net, Task
from sidrec.core.errors import SettingsError, TrainingError
from sidrec.core.progress import SilentProgress
from sidrec.training import seeding
from sidrec.training.distributed import World
from sidrec.training.loop import train
from sidrec.training.objective import Losses
from sidrec.training.options import TrainingOptions


def options(**changes) -> TrainingOptions:
    return TrainingOptions(**{**QUICK, **changes})


def weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def test_equals_a_loop_written_out_by_hand():
    """No schedule, no clipping: forward, backward, torch's own AdamW, the documented seeds."""
    module, task = Net(), Task()
    train(module, task, options(schedule="constant", warmup=0.0, clip_norm=None, weight_decay=0.1))

    twin, data = Net(), Task()
    matrices = [p for p in twin.parameters() if p.ndim > 1]
    others = [p for p in twin.parameters() if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=0.02)
    for epoch in range(6):
        order = torch.from_numpy(seeding.epoch_order(0, epoch, 50))
        for step in range(4):
            rows = order[step * 16 : (step + 1) * 16]
            noise = torch.Generator().manual_seed(seeding.mixed_seed(0, "noise", epoch, step))
            torch.manual_seed(seeding.mixed_seed(0, "dropout", epoch, step, 0, 0))
            x = data.x[rows] + 0.05 * torch.randn(len(rows), 4, generator=noise)
            adamw.zero_grad()
            for part in torch.arange(len(rows)).split(7):
                loss = (twin(x[part]) - data.y[rows][part]).square().sum() / len(rows)
                (loss + 0.01 * twin(x[part]).square().sum() / len(rows)).backward()
            adamw.step()
        if epoch < 5:
            between = torch.Generator().manual_seed(seeding.mixed_seed(0, "between epochs", epoch))
            with torch.no_grad():
                data.after_epoch(twin, epoch, between)
    for name, tensor in twin.state_dict().items():
        torch.testing.assert_close(module.state_dict()[name], tensor, rtol=1e-4, atol=1e-5)


def test_every_sample_once_per_epoch_in_another_order():
    task = Task()
    train(Net(), task, options(epochs=2))
    first, second = task.visited[:4], task.visited[4:]
    assert [len(rows) for rows in first] == [16, 16, 16, 2]
    for epoch in (first, second):
        assert sorted(row for rows in epoch for row in rows) == list(range(50))
    assert first != second


def test_same_seed_same_weights_and_the_callers_draws_are_left_alone():
    a, b, c = Net(), Net(), Net()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(a, Task(), options())
    assert torch.equal(torch.rand(3), expected)
    train(b, Task(), options())
    train(c, Task(), options(seed=1))
    assert same(weights(a), weights(b))
    assert not same(weights(a), weights(c))


def test_a_world_that_is_handed_in_is_not_looked_for(monkeypatch):
    expected, module = Net(), Net()
    train(expected, Task(), options())
    monkeypatch.setattr(World, "here", lambda *_: pytest.fail("asked the environment"))
    train(module, Task(), options(), world=World(rank=0, size=1, device=torch.device("cpu")))
    assert same(weights(module), weights(expected))


def test_micro_batches_give_the_same_training():
    whole, cut = Net(dropout=0.0), Net(dropout=0.0)
    train(whole, Task(), options())
    train(cut, Task(), options(accumulate=3))
    for name, tensor in whole.state_dict().items():
        torch.testing.assert_close(cut.state_dict()[name], tensor, rtol=1e-4, atol=1e-5)


def test_few_samples_are_cut_into_smaller_batches_so_that_an_epoch_has_enough_steps():
    small, cut = Net(), Net()
    train(small, Task(), options(batch_size=16))
    train(cut, Task(), options(batch_size=256, min_steps=3))  # 50 samples: 16 in a step
    assert same(weights(small), weights(cut))
    few = TrainingOptions(batch_size=256, min_steps=32)
    assert [few.batch_for(n) for n in (3, 600, 3_200, 8_317, 100_000)] == [16, 18, 100, 256, 256]
    assert TrainingOptions(batch_size=8, min_steps=32).batch_for(100) == 8


def test_history_holds_means_by_name(tmp_path):
    module = Net(dropout=0.0)
    result = train(
        module, Task(), options(epochs=3, learning_rate=1e-9, schedule="constant", validate_every=2), workdir=tmp_path
    )
    lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert lines == result.history
    assert [entry["epoch"] for entry in lines] == [1, 2, 3]
    assert [entry["steps"] for entry in lines] == [4, 8, 12]
    assert ["validation/error" in entry for entry in lines] == [False, True, True]
    assert ["between/drift" in entry for entry in lines] == [True, True, False]
    last = lines[-1]
    assert last["loss"] == pytest.approx(last["loss/error"] + last["loss/size"])
    assert last["loss/error"] == pytest.approx(last["validation/error"], rel=0.1)  # only the input noise differs
    assert last["learning_rate"] == pytest.approx(1e-9)
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")
    assert result.epochs == 3
    assert not result.stopped_early
    assert result.best_epoch is None
    assert not module.training


class Scripted(Task):
    """Validation figures read from a list; remembers the weights that earned each."""

    def __init__(self, figures: list[float]) -> None:
        super().__init__()
        self.figures, self.seen = figures, []

    def validate(self, module: torch.nn.Module) -> dict[str, float]:
        assert not module.training
        assert not torch.is_grad_enabled()
        self.seen.append(weights(module))
        return {"score": self.figures[len(self.seen) - 1]}


def test_early_stopping_returns_the_best_weights():
    module, task = Net(), Scripted([1.0, 3.0, math.nan, 2.0, 9.0])
    result = train(module, task, options(epochs=50, metric="score", patience=2))
    assert (result.epochs, result.best_epoch, result.best_value, result.stopped_early) == (4, 2, 3.0, True)
    assert same(weights(module), task.seen[1])


def test_without_a_metric_the_last_weights_stay():
    module, task = Net(), Scripted([3.0, 1.0])
    train(module, task, options(epochs=2))
    assert same(weights(module), task.seen[1])


def test_nothing_to_validate_keeps_the_last_weights():
    task = Task()
    task.validate = lambda module: {}
    result = train(Net(), task, options(metric="score", patience=1, epochs=3))
    assert (result.epochs, result.best_epoch) == (3, None)


def test_an_unknown_metric_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match=r"training.metric = recall: validation measures error"):
        train(Net(), Task(), options(metric="recall"))


@pytest.mark.slow
def test_minutes_are_a_budget_that_can_be_raised(tmp_path):
    short, long = options(epochs=5, minutes=1e-9), options(epochs=5)
    module, whole = Net(), Net()
    result = train(module, Task(), short, workdir=tmp_path)
    assert (result.epochs, result.stopped_early) == (1, True)
    assert train(Net(), Task(), short, workdir=tmp_path) == result
    assert train(module, Task(), long, workdir=tmp_path).epochs == 5
    train(whole, Task(), long)
    assert same(weights(module), weights(whole))


LEVEL = {"schedule": "constant", "warmup": 0.0}


@pytest.mark.slow
def test_more_epochs_than_a_finished_training_had_go_on_from_there(tmp_path):
    """With a level rate the schedule does not know the number of epochs, so the detour leaves no trace."""
    module, whole, recorder = Net(), Net(), Recorder()
    train(module, Task(), options(epochs=2, **LEVEL), workdir=tmp_path)
    task = Task()
    result = train(Net(seed=3), task, options(epochs=5, **LEVEL), workdir=tmp_path, progress=recorder)
    assert recorder.notes == ["training: going on from epoch 2 of 2, now 5."]
    assert (result.epochs, result.gone_on_from, len(task.visited)) == (5, (2,), 3 * 4)
    assert result.summary()["gone_on_from"] == [2]
    assert [json.loads(line)["epoch"] for line in (tmp_path / "history.jsonl").read_text().splitlines()] == [
        *range(1, 6)
    ]
    train(whole, Task(), options(epochs=5, **LEVEL))
    train(module, Task(), options(epochs=5, **LEVEL), workdir=tmp_path)
    assert same(weights(module), weights(whole))


@pytest.mark.slow
def test_a_falling_rate_follows_the_new_number_of_epochs_and_that_is_said(tmp_path):
    recorder = Recorder()
    train(Net(), Task(), options(epochs=2), workdir=tmp_path)
    history = train(Net(), Task(), options(epochs=4), workdir=tmp_path, progress=recorder).history
    assert recorder.notes == [
        "training: going on from epoch 2 of 2, now 4; the learning rate is from here on that of 4."
    ]
    whole = train(Net(), Task(), options(epochs=4)).history
    rates, straight = ([entry["learning_rate"] for entry in run] for run in (history, whole))
    assert rates[2:] == straight[2:]
    assert rates[1] < straight[1]


def test_a_training_that_stopped_early_does_not_go_on(tmp_path):
    stopped = options(epochs=50, metric="score", patience=1)
    train(Net(), Scripted([3.0, 1.0]), stopped, workdir=tmp_path)
    assert train(Net(), Scripted([]), options(epochs=60, metric="score", patience=1), workdir=tmp_path).epochs == 2


class Broken(Task):
    """Its loss (or only its gradient) stops being a number in epoch 2, step 3."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def parts(self, module, batch):
        for losses in super().parts(module, batch):
            if (batch.epoch, batch.step) != (1, 2):
                yield losses
            elif self.where == "loss":
                yield Losses(losses.total * math.nan, {**losses.terms, "size": losses.terms["size"] * math.nan})
            else:
                zero = (module.outer.weight * 0).sum()
                yield Losses(losses.total + torch.sqrt(zero), losses.terms)  # 0 forwards, infinite backwards


@pytest.mark.parametrize(("where", "words"), [("loss", r"terms: loss, size"), ("gradient", "gradient is no longer")])
@pytest.mark.slow
def test_a_number_that_explodes_stops_training_in_words(tmp_path, where, words):
    with pytest.raises(TrainingError, match=rf"{words}.*epoch 2, step 3 of 4; lower training.learning_rate.*kept in"):
        train(Net(), Broken(where), options(checkpoint_seconds=0), workdir=tmp_path)
    resumed, whole = Net(), Net()
    gentler = options(checkpoint_seconds=0, learning_rate=0.01)
    result = train(resumed, Task(), gentler, workdir=tmp_path)
    assert result.epochs == 6
    assert all(torch.isfinite(tensor).all() for tensor in resumed.state_dict().values())
    train(whole, Task(), options())
    assert not same(weights(resumed), weights(whole))  # the gentler rate was taken


def test_a_learning_rate_that_explodes_is_named():
    wild = options(learning_rate=1e30, warmup=0.0, clip_norm=None, epochs=50)
    with pytest.raises(TrainingError, match=r"lower training.learning_rate \(now 1e\+30\)"):
        train(Net(), Task(), wild)


def test_a_part_without_a_graph_is_exactly_nothing():
    class Empty(Task):
        def parts(self, module, batch):
            yield Losses(torch.tensor(0.0), {"error": torch.tensor(0.0)})

        def after_epoch(self, module, epoch, generator):
            return {}

    module = Net()
    before = weights(module)
    result = train(module, Empty(), options(epochs=2))
    assert same(weights(module), before)
    assert result.history[0]["loss"] == 0.0


def test_no_samples_is_refused():
    task = Task()
    task.n_samples = 0
    with pytest.raises(TrainingError, match="nothing to learn from"):
        train(Net(), task, options())


class Recorder(SilentProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.mark.slow
def test_a_finished_training_returns_at_once(tmp_path):
    first, again, recorder = Net(), Net(), Recorder()
    result = train(first, Task(), options(metric="error", goal="min"), workdir=tmp_path)
    untouched = Task()
    assert train(again, untouched, options(metric="error", goal="min"), workdir=tmp_path, progress=recorder) == result
    assert untouched.visited == []
    assert same(weights(first), weights(again))
    assert recorder.notes == ["training: already finished after 6 epochs."]

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reference.oracle import Oracle
from sidrec.core.artifacts import open_artifact
from sidrec.core.errors import ArtifactError, InputError, StorageError
from sidrec.core.progress import LineProgress
from sidrec.core.replacing import replacing
from sidrec.data.dataset import Dataset
from sidrec.data.histories import Histories
from sidrec.data.synthetic import cycle, demo_shop
from sidrec.evaluation import evaluate as module
from sidrec.evaluation.evaluate import evaluate, evaluate_saved
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import RANKS_FILE, RESULTS_FILE
from sidrec.models.popularity import Popularity

FILES = (RANKS_FILE, RESULTS_FILE)


def contents(path: Path) -> list[bytes]:
    return [(path / name).read_bytes() for name in FILES]


@pytest.mark.parametrize("split", ["validation", "test"])
def test_an_oracle_gets_exactly_the_places_it_chose(shop, split):
    places = np.resize([0, 0, 4, 9, -1], 90)
    result = evaluate(Oracle(shop, places, split), shop, EvaluationSettings(split=split, chunk=7))
    assert result.ranks["rank"].to_list() == places.tolist()
    assert result.recall == {1: pytest.approx(0.4), 5: pytest.approx(0.6), 10: pytest.approx(0.8)}
    assert result.ndcg[10] == pytest.approx((2 + 1 / np.log2(6) + 1 / np.log2(11)) / 5)
    assert result.metrics["code_match_recall@10"] == result.recall[10]
    assert result.intervals["recall@10"].low < 0.8 < result.intervals["recall@10"].high
    assert (result.rates.invalid_rate, result.rates.collision_rate) == (0.0, 0.0)
    assert result.users == 90
    assert result.timing.users_per_s == pytest.approx(90 / result.timing.seconds)


def test_seen_items_leave_their_places(shop):
    model = Popularity().fit(shop)
    plain, fresh = (evaluate(model, shop, EvaluationSettings(exclude_seen=seen)) for seen in (False, True))
    assert fresh.recall[10] > plain.recall[10]  # nobody of this shop buys an item twice
    assert (fresh.exclude_seen, plain.exclude_seen) == (True, False)


@pytest.mark.slow
def test_chunks_or_one_go_give_identical_files(saved, tmp_path):
    data, model = Dataset.load(saved[0]), saved[1]
    for chunk in (1, 7, 90, 1000):
        evaluate_saved(model, data, tmp_path / str(chunk), EvaluationSettings(chunk=chunk))
    assert (
        contents(tmp_path / "1") == contents(tmp_path / "7") == contents(tmp_path / "90") == contents(tmp_path / "1000")
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "1000", "7", "90"]
    kept = {path.name for path in (tmp_path / "7").iterdir()}
    assert kept == {"manifest.json", "ranks.parquet", "results.json", "timing.json"}


SLOW = """
import sys, time
from pathlib import Path
from sidrec.data.dataset import Dataset
from sidrec.evaluation import evaluate as module
from sidrec.evaluation.protocol import EvaluationSettings
real = module.rank_cases
chunks = iter([0, 0, 0, 600])
def slow(*args):
    time.sleep(next(chunks))
    return real(*args)
module.rank_cases = slow
data, model, out = map(Path, sys.argv[1:])
module.evaluate_saved(model, Dataset.load(data), out, EvaluationSettings(chunk=5))
"""


@pytest.mark.slow
def test_a_killed_evaluation_goes_on_and_ends_the_same(saved, tmp_path, monkeypatch):
    data, out = Dataset.load(saved[0]), tmp_path / "killed"
    job = subprocess.Popen([sys.executable, "-c", SLOW, *map(str, saved), str(out)])
    with job:
        while len(list(tmp_path.glob(".killed.work-*/parts/*.parquet"))) < 3:
            assert job.poll() is None
            time.sleep(0.005)
        job.send_signal(signal.SIGKILL)
    with pytest.raises(ArtifactError, match="killed: is not finished; run the command that makes it again"):
        open_artifact(out)
    done = 5 * len(list(tmp_path.glob(".killed.work-*/parts/*.parquet")))
    ranked, real = [], module.rank_cases
    monkeypatch.setattr(module, "rank_cases", lambda m, d, c, s: ranked.append(len(c)) or real(m, d, c, s))
    evaluate_saved(saved[1], data, out, EvaluationSettings(chunk=11))
    assert sum(ranked) == 90 - done < 90
    evaluate_saved(saved[1], data, tmp_path / "fresh", EvaluationSettings())
    assert contents(out) == contents(tmp_path / "fresh")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "killed"]


def test_finished_work_is_skipped_and_said(saved, tmp_path, monkeypatch):
    data, stream = Dataset.load(saved[0]), io.StringIO()
    first = evaluate_saved(saved[1], data, tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(module, "load_model", lambda path: pytest.fail("the model was loaded"))
        again = evaluate_saved(saved[1], data, tmp_path / "run", EvaluationSettings(chunk=3), LineProgress(stream))
    assert again.as_dict() == first.as_dict()
    assert "already there, nothing to do" in stream.getvalue()
    with replacing():
        other = evaluate_saved(saved[1], data, tmp_path / "run", EvaluationSettings(split="validation"))
    assert other.split == "validation"


def test_a_failing_disk_loses_nothing(saved, tmp_path, monkeypatch):
    data, calls, real = Dataset.load(saved[0]), [], module._write_part

    def full_after_two(*args):
        calls.append(args)
        if len(calls) > 2:
            raise OSError(28, "No space left on device")
        real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_write_part", full_after_two)
        with pytest.raises(StorageError, match="no space left on the disk"):
            evaluate_saved(saved[1], data, tmp_path / "run", EvaluationSettings(chunk=10))
    assert len(list(tmp_path.glob(".run.work-*/parts/*.parquet"))) == 2
    assert evaluate_saved(saved[1], data, tmp_path / "run").users == 90


def test_a_model_of_another_catalogue_is_refused(saved, tmp_path):
    with pytest.raises(InputError, match=r"model: was trained on another catalogue \(400 items, the data has 40\)"):
        evaluate_saved(saved[1], cycle(), tmp_path / "run")
    with pytest.raises(InputError, match="another training part of this catalogue"):
        other = demo_shop(n_items=400, n_users=90, seed=2)
        ends = {"train_ends": other.train_ends - 2, "validation_ends": other.train_ends - 1}  # what it was trained on
        evaluate_saved(saved[1], replace(other, **ends, fingerprint="x"), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_no_held_out_items_and_no_model_are_clear(saved, shop, tmp_path):
    empty = replace(shop, validation_ends=shop.sequences.lengths)
    with pytest.raises(InputError, match="no user has a test item"):
        evaluate(Popularity().fit(empty), empty)
    with pytest.raises(ArtifactError, match="is a dataset artefact, a model artefact is needed"):
        evaluate_saved(saved[0], shop, tmp_path / "run")


def with_canary(data: Dataset, place: int) -> Dataset:
    """Item 7 is nowhere but at the given place from the end of every sequence."""
    items = data.sequences.items.copy()
    items[items == 7] = 8
    items[data.sequences.offsets[1:] - place] = 7
    return replace(data, sequences=Histories(items, data.sequences.offsets), fingerprint="canary")


@pytest.mark.parametrize("place", [1, 2])
def test_a_canary_in_the_held_out_part_does_not_reach_training(shop, place):
    data = with_canary(shop, place)
    assert (data.cases("test" if place == 1 else "validation").targets == 7).all()
    assert data.train_counts()[7] == 0
    assert 7 not in data.train_sequences().items
    assert 7 not in data.cases("validation").histories.items
    model = Popularity().fit(data)
    assert model.counts[7] == 0
    result = evaluate(model, data, EvaluationSettings(split="test" if place == 1 else "validation"))
    assert result.recall[10] == 0.0
    assert result.by_item_popularity["cold"].users == 90


def test_progress_shows_the_figure_of_all_users_so_far(shop):
    shown: list[float] = []

    class Watch:
        @contextmanager
        def task(self, name, total=None):
            yield self

        def advance(self, amount=1, **figures):
            shown.append(figures["recall@10"])

        def note(self, text):
            raise AssertionError(text)

    places = np.array([0] * 30 + [-1] * 60)
    evaluate(Oracle(shop, places), shop, EvaluationSettings(chunk=30), progress=Watch())
    assert shown == [1.0, 0.5, pytest.approx(1 / 3)]

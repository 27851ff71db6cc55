"""`sidrec train`: what it writes, what it refuses, and that a kill or a second process changes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from reference.tiny_recipe import TINY
from sidrec.cli.app import main
from sidrec.data.synthetic import clusters
from sidrec.embeddings.embed import embed_catalog
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models.registry import load_model
from sidrec.sids.tokenize import TokenizeSettings, tokenize
from sidrec.training.optimizer import Optimizer


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset, its semantic IDs and a recipe."""
    folder = tmp_path_factory.mktemp("train")
    data = clusters(n_clusters=4, cluster_size=8, n_users=60, length=6)
    data.save(folder / "data")
    embeddings = embed_catalog(data.catalog, EmbeddingSettings(encoder="tfidf"))
    options = {"n_codes": 3, "codebook_size": 8, "pca": None}
    tokenize(embeddings, TokenizeSettings(tokenizer="rq-kmeans", options=options), out=folder / "ids")
    (folder / "tiny.toml").write_text(TINY)
    return folder


def words(inputs: Path, out: Path, *more: str) -> list[str]:
    recipe = str(inputs / "tiny.toml")
    return ["train", "--data", str(inputs / "data"), "--sids", str(inputs / "ids"), "--recipe", recipe,
            "--out", str(out), *more]  # fmt: skip


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["sidrec", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


@pytest.mark.slow
def test_trains_once_and_skips_the_second_time(inputs, tmp_path, monkeypatch, capsys) -> None:
    assert run(monkeypatch, *words(inputs, tmp_path / "m", "--json")) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["model"] == "llada-rec" and first["epochs"] == 1 and not first["skipped"]
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m" / "history.jsonl").is_file() and (tmp_path / "m" / "curve.svg").is_file()
    assert run(monkeypatch, *words(inputs, tmp_path / "m", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["skipped"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--set", "d_modle=3"], "model.d_modle is not a setting of llada-rec; did you mean d_model?"),
        (["--set", "training.epochs=0"], "greater than or equal to 1"),
        (["--model", "sasrec"], "is a recipe of llada-rec"),
        (["--resume"], "no cut-off training with these settings"),
        (["--resume", "--restart"], "choose one of them (--resume, --restart)."),
        (["--set", "training.learning_rate=1e30", "--set", "training.clip_norm=1e30"], "lower training.learning_rate"),
    ],
)
@pytest.mark.slow
def test_refusals_are_one_sentence(inputs, tmp_path, monkeypatch, capsys, more, said) -> None:
    assert run(monkeypatch, *words(inputs, tmp_path / "m", *more)) == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error
    assert not (tmp_path / "m").exists()


@pytest.fixture
def without_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take longer than these trainings."""
    monkeypatch.setattr("sidrec.training.loop.draw_curve", lambda *_, **__: None)


def notes(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    return " ".join((said.out + said.err).split())


@pytest.mark.slow
def test_settings_of_the_run_and_the_search_do_not_train_again(inputs, tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "m"
    assert run(monkeypatch, *words(inputs, out)) == 0
    before = weights(out), (out / "history.jsonl").read_bytes()
    capsys.readouterr()
    changed = ["--set", "training.device=cpu", "--set", "training.minutes=9", "--set", "embedding.batch_size=3"]
    assert run(monkeypatch, *words(inputs, out, *changed)) == 0
    assert "already trained with these settings" in notes(capsys)
    assert run(monkeypatch, *words(inputs, out, "--set", "search.beam_size=13")) == 0
    assert "only its search settings were changed" in notes(capsys)
    assert load_model(out).search.beam_size == 13
    assert (weights(out), (out / "history.jsonl").read_bytes()) == before
    assert (out / "checkpoint" / "state.json").is_file()


@pytest.mark.usefixtures("without_curves")
@pytest.mark.slow
def test_more_epochs_go_on_and_restart_begins_anew(inputs, tmp_path, monkeypatch, capsys) -> None:
    out, twice = tmp_path / "m", ("--set", "training.epochs=2")
    assert run(monkeypatch, *words(inputs, out)) == 0
    assert run(monkeypatch, *words(inputs, out, *twice, "--resume")) == 0
    assert "llada-rec: going on from epoch 1 of 1, now 2" in notes(capsys)
    assert run(monkeypatch, *words(inputs, out)) == 0
    assert "holds this model, but it has had 2 epochs already; training begins anew" in notes(capsys)
    assert run(monkeypatch, *words(inputs, out, *twice, "--restart")) == 0
    assert "going on" not in notes(capsys)


@pytest.mark.usefixtures("without_curves")
@pytest.mark.slow
def test_a_lower_rate_begins_anew_unless_resumed(inputs, tmp_path, monkeypatch, capsys) -> None:
    out, often = tmp_path / "m", ["--set", "training.checkpoint_seconds=0", "--set", "training.batch_size=32"]
    wild = ["--set", "training.learning_rate=1e30", "--set", "training.clip_norm=1e30", "--set", "training.warmup=1"]
    assert run(monkeypatch, *words(inputs, out, *often, *wild)) == 2
    assert len(list(tmp_path.glob(".m.work-*/checkpoint"))) == 1
    capsys.readouterr()
    calm = ["--set", "training.learning_rate=1e-3", "--set", "training.warmup=1"]
    assert run(monkeypatch, *words(inputs, out, *often, *calm)) == 0
    assert "resumed" not in notes(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_recipe_that_is_not_there(inputs, tmp_path, monkeypatch, capsys) -> None:
    recipe = ["train", "--data", str(inputs / "data"), "--recipe", "demo/nothing", "--out", str(tmp_path / "m")]
    assert run(monkeypatch, *recipe) == 2
    assert "bundled recipes: " in capsys.readouterr().err


def launch(log: Path, *command: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    with log.open("wb") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment)


def finish(log: Path, *command: str) -> None:
    assert launch(log, *command).wait(timeout=300) == 0, log.read_text()


def weights(out: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in load_file(out / "weights.safetensors").items()}


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_gives_the_same_weights(inputs, tmp_path) -> None:
    more = ("--set", "training.epochs=40", "--set", "training.batch_size=16", "--set", "training.checkpoint_seconds=0")
    sidrec, log = (sys.executable, "-m", "sidrec"), tmp_path / "log"
    finish(log, *sidrec, *words(inputs, tmp_path / "whole", *more))
    kills = 0
    for patience in (0.05, 0.4, 0.9):
        process = launch(log, *sidrec, *words(inputs, tmp_path / "killed", *more))
        while not list(tmp_path.glob(".killed.work-*/history.jsonl")) and process.poll() is None:
            time.sleep(0.02)
        time.sleep(patience)
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert kills >= 1
    finish(log, *sidrec, *words(inputs, tmp_path / "killed", *more))
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


@pytest.mark.slow
def test_a_checkpoint_of_other_ids_or_settings_is_never_taken_up(inputs, tmp_path, monkeypatch) -> None:
    """Cut off with one set of settings, then trained with another: the result is that of a fresh training."""
    more = ("--set", "training.checkpoint_seconds=0", "--set", "training.epochs=2")
    with monkeypatch.context() as broken:
        broken.setattr("sidrec.models.base.Recommender.save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert run(broken, *words(inputs, tmp_path / "m", *more)) == 130
    assert len(list(tmp_path.glob(".m.work-*"))) == 1
    other = (*more, "--set", "history_mask_weight=1.0")
    assert run(monkeypatch, *words(inputs, tmp_path / "m", *other)) == 0
    assert run(monkeypatch, *words(inputs, tmp_path / "fresh", *other)) == 0
    assert weights(tmp_path / "m") == weights(tmp_path / "fresh")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "m"]


@pytest.mark.slow
def test_after_a_divergence_a_lower_rate_goes_on_where_the_message_says(inputs, tmp_path, monkeypatch, capsys) -> None:
    more = ("--set", "training.checkpoint_seconds=0", "--set", "training.epochs=3", "--set", "training.batch_size=16")
    wild, calm = ("--set", "training.learning_rate=0.01"), ("--set", "training.learning_rate=0.001")
    moves = Optimizer.move

    def diverge(self, *args):
        steps.append(1)
        return None if len(steps) > 6 else moves(self, *args)

    with monkeypatch.context() as broken:
        steps: list[int] = []
        broken.setattr(Optimizer, "move", diverge)
        assert run(broken, *words(inputs, tmp_path / "m", *more, *wild)) == 2
    said = capsys.readouterr().err
    assert "lower training.learning_rate (now 0.01) and resume: the last good checkpoint is kept in" in said
    assert "(--resume)." in said
    assert run(monkeypatch, *words(inputs, tmp_path / "m", *more, *calm, "--resume")) == 0
    assert "resumed at epoch" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.slow
def test_two_processes_through_accelerate_launch(inputs, tmp_path) -> None:
    """Same data, no dropout: two processes end where one ends, up to the order of sums."""
    more = ("--set", "dropout=0.0", "--set", "training.epochs=3", "--set", "training.device=cpu")
    log = tmp_path / "log"
    finish(log, sys.executable, "-m", "sidrec", *words(inputs, tmp_path / "one", *more))
    accelerate = (sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2",
                  "--mixed_precision", "no", "--num_machines", "1", "--dynamo_backend", "no",
                  "--main_process_port", "0")  # fmt: skip
    finish(log, *accelerate, "-m", "sidrec", *words(inputs, tmp_path / "two", *more))
    alone, together = (load_file(tmp_path / name / "weights.safetensors") for name in ("one", "two"))
    for name, value in alone.items():
        assert abs(value - together[name]).max() < 1e-3, name

"""`sidrec serve` as processes: a worker that dies is replaced, and at the end what was accepted is answered."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress

import psutil
import pytest
import uvicorn

from sidrec.data.dataset import Dataset
from sidrec.models.popularity import Popularity
from sidrec.serving import run
from sidrec.serving.app import create_app
from sidrec.serving.recommending import answer_batch
from sidrec.serving.service import Service
from sidrec.serving.settings import ServeSettings

pytestmark = pytest.mark.slow
PATIENCE_S = 240


def ask(address: str, path: str, body: object = None) -> tuple[int, dict]:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, content, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def until(holds, what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.1)


def answers(address: str) -> bool:
    try:
        return ask(address, "/health/ready")[0] == 200
    except OSError:
        return False


@pytest.fixture
def serving(saved, tmp_path):
    """Two workers with a store; given are the process and the address."""
    words = [
        "serve",
        f"popular={saved['popular']}",
        "--port",
        "0",
        "--workers",
        "2",
        "--store",
        f"sqlite:///{tmp_path}/u.db",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "SIDREC_TOKEN"}
    with subprocess.Popen(
        [sys.executable, "-m", "sidrec", *words], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            address = process.stdout.readline().split(" at ")[1].split(",")[0]
            until(lambda: answers(address), "the service")
            yield process, address
        finally:
            process.kill()


def workers_of(process: subprocess.Popen) -> set[int]:
    found = set()
    for child in psutil.Process(process.pid).children():
        with suppress(psutil.NoSuchProcess):  # gone meanwhile
            if child.status() != psutil.STATUS_ZOMBIE and child.memory_info().rss > 50 << 20:
                found.add(child.pid)
    return found


def both_wait(process: subprocess.Popen) -> bool:
    """Whether two workers have been at rest for a second: each has its models by then."""
    for _ in range(10):
        found = workers_of(process)
        if len(found) < 2 or any(psutil.Process(pid).status() != psutil.STATUS_SLEEPING for pid in found):
            return False
        time.sleep(0.1)
    return True


def test_a_worker_that_dies_is_replaced(serving):
    process, address = serving
    event = {"events": [{"event_id": "e1", "user_id": "u", "item_id": "P00001"}]}
    assert ask(address, "/v1/events", event) == (200, {"acknowledged": 1, "new": 1})
    until(lambda: len(workers_of(process)) == 2, "two workers")
    victim = min(workers_of(process))  # perhaps still on its way to its first answer
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(workers_of(process) - {victim}) == 2, "another worker")
    until(lambda: answers(address), "an answer")
    assert ask(address, "/v1/users/u/recommend?k=2")[1]["history"] == ["P00001"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert "everything that was accepted is answered" in process.stdout.read()


def test_what_was_accepted_is_answered_before_the_end(saved, store, monkeypatch):
    begun, go_on, found = threading.Event(), threading.Event(), []

    def slowly(way, several):
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return answer_batch(way, several)

    monkeypatch.setattr("sidrec.serving.service.answer_batch", slowly)
    settings = ServeSettings(models=saved, port=0)
    server = uvicorn.Server(run._config(create_app(Service.of(settings, store)), settings))
    with run.listening(settings) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        body = {"history": ["P00001"], "model": "popular", "k": 3}
        threads = [
            threading.Thread(target=server.run, kwargs={"sockets": [taken]}),
            threading.Thread(target=lambda: found.append(ask(address, "/v1/recommend", body))),
        ]
        for thread in threads:
            thread.start()
        assert begun.wait(PATIENCE_S)
        server.should_exit = True
        until(lambda: not server.servers or not any(each.is_serving() for each in server.servers), "the closed door")
        go_on.set()
        for thread in threads:
            thread.join(PATIENCE_S)
    [(status, answer)] = found
    assert status == 200 and len(answer["items"]) == 3


def started(saved, *words: str, to=subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sidrec", "serve", f"popular={saved['popular']}", "--port", "0", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=to, text=True)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_right_after_the_announcement_is_heard(saved, workers):
    with started(saved, "--workers", workers) as process:
        assert " at http" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("store", "words"), [("mysql://u:p@ss@h/x", "h/x: not a store"), ("sqlite:////proc/nope/u.db", "cannot be used")]
)
def test_a_store_that_cannot_be_is_one_sentence(saved, workers, store, words):
    with started(saved, "--workers", workers, "--store", store) as process:
        said, noted = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2 and words in noted and noted.splitlines()[1:] == [noted.splitlines()[-1]]
    assert "ss@h" not in noted and " at http" not in said


def test_a_worker_that_finds_a_broken_model_says_it_once_and_waits_while_the_others_serve(saved, tmp_path):
    shutil.copytree(saved["popular"], tmp_path / "popular")
    weights = next(path for path in (tmp_path / "popular").iterdir() if path.suffix == ".parquet")
    whole = weights.read_bytes()
    noted = tmp_path / "stderr"
    with noted.open("w") as stderr, started({"popular": tmp_path / "popular"}, "--workers", "2", to=stderr) as process:
        try:
            address = process.stdout.readline().split(" at ")[1].split(",")[0]
            until(lambda: answers(address) and both_wait(process), "the service")
            first, other = sorted(workers_of(process))
            weights.write_bytes(b"broken")
            os.kill(first, signal.SIGKILL)
            until(lambda: "cannot begin" in noted.read_text(), "the sentence")
            new = max(workers_of(process) - {other})
            time.sleep(2)  # several tries
            assert answers(address) and workers_of(process) == {new, other}
            [sentence] = [line for line in noted.read_text().splitlines() if line != "loading the models"]
            assert str(weights) in sentence and f"worker {new} " in sentence
            weights.write_bytes(whole)
            os.kill(other, signal.SIGKILL)
            until(lambda: answers(address), "the worker that waited")
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


def test_a_waiting_worker_holds_up_no_end(saved, tmp_path):
    shutil.copytree(saved["popular"], tmp_path / "popular")
    noted = tmp_path / "stderr"
    with noted.open("w") as stderr, started({"popular": tmp_path / "popular"}, "--workers", "2", to=stderr) as process:
        try:
            process.stdout.readline()
            until(lambda: both_wait(process), "the workers")
            shutil.rmtree(tmp_path / "popular")
            for worker in workers_of(process):
                os.kill(worker, signal.SIGKILL)
            until(lambda: noted.read_text().count("cannot begin") == 2, "both sentences")
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


def test_a_model_that_no_worker_can_load_is_one_sentence(saved, tmp_path):
    shop = Dataset.load(saved["popular"].parent / "data")
    Popularity(key="own-elsewhere").fit(shop).save(tmp_path / "own")
    with started({"popular": tmp_path / "own"}, "--workers", "2") as process:
        try:
            said, noted = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 2 and "'own-elsewhere', which is not known here" in noted
    assert " at http" not in said

"""A service under load, over loopback: closed loops with and without micro-batching, three times what it can take,
and a worker that is killed and a model that is reloaded while answers are checked and events are counted."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from sidrec.data.synthetic import demo_shop
from sidrec.models.base import Recommender
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.registry import load_model
from sidrec.serving.user_store import DatabaseStore
from workers.http_load import LOST, Connection, Load, arrivals, closed_loop

TOKEN, K, N_HISTORIES = "benchmark", 10, 64
SMALL: dict[str, Any] = {
    "d_model": 64,
    "n_heads": 4,
    "n_layers": 2,
    "attention": "prefix",
    "embedding": {"encoder": "tfidf"},
    "tokenize": {"tokenizer": "rq-kmeans", "options": {"n_codes": 4, "codebook_size": 64, "pca": None}},
    "training": {"epochs": 1, "batch_size": 256, "metric": None},
}


def made_model(folder: Path) -> Path:
    LLaDARec(**SMALL).fit(demo_shop(n_items=2_000, n_users=1_000)).save(folder / "model")
    return folder / "model"


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    port: int

    def memory_mb(self) -> float:
        own = psutil.Process(self.process.pid)
        return float(sum(each.memory_info().rss for each in [own, *own.children(recursive=True)]) / 2**20)

    def workers(self) -> list[psutil.Process]:
        """Children that serve: those with the socket and the weights, so the largest ones."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in children if child.memory_info().rss > 100 * 2**20]


@contextmanager
def served(model: Path, *words: str, **settings: object) -> Iterator[Server]:
    """`sidrec serve` on a free port, ready."""
    chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "sidrec", "serve", f"model={model}", "--port", "0", *words, *chosen]
    environment = {**os.environ, "SIDREC_TOKEN": TOKEN}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split(" at ")[1].split(",")[0]
            server = Server(process, int(address.rsplit(":", 1)[1]))
            asyncio.run(until_ready(server.port, 60))
            yield server
        finally:
            process.terminate()
            process.wait(30)


async def until_ready(port: int, within: float) -> float:
    """Seconds until it says so and answers."""
    began, connection = time.perf_counter(), Connection(port)
    while time.perf_counter() - began < within:
        try:
            ready = (await connection.send("GET", "/health/ready"))[0]
            if ready == 200 and (await recommend(connection, []))[0] == 200:
                connection.close()
                return time.perf_counter() - began
        except LOST:
            pass
        await asyncio.sleep(0.02)
    raise SystemExit(f"the service was not ready within {within:g} seconds")


async def recommend(connection: Connection, history: list[str]) -> tuple[int, bytes]:
    return await connection.send("POST", "/v1/recommend", {"history": history, "k": K})


@dataclass(frozen=True)
class Asked:
    """Histories, and what the library answers to each."""

    histories: list[list[str]]
    answers: list[list[str]]

    @classmethod
    def of(cls, model: Recommender) -> Asked:
        ids = model.catalog.item_ids.to_list()
        histories = [ids[start : start + 2 + start % 9] for start in range(0, 7 * N_HISTORIES, 7)]
        return cls(histories, model.recommend(histories, k=K).item_ids)

    async def ask(self, connection: Connection, number: int) -> tuple[int, bytes]:
        return await recommend(connection, self.histories[number % len(self.histories)])

    def is_wrong(self, number: int, answer: bytes) -> bool:
        """Another list; which of two items comes first may differ where their scores are equal to the last digit."""
        found = [item["item_id"] for item in json.loads(answer)["items"]]
        known = self.answers[number % len(self.histories)]
        return found != known and len(set(found) & set(known)) < K - 1


def loops(model: Path, asked: Asked, seconds: float, *, batching: bool) -> dict[int, Load]:
    """1, 8 and 32 clients."""
    found = {}
    with served(model, **({} if batching else {"max_batch": 1})) as server:
        for clients in (1, 8, 32):
            asyncio.run(closed_loop(server.port, clients, min(seconds, 2), asked.ask))
            found[clients] = asyncio.run(closed_loop(server.port, clients, seconds, asked.ask))
            print(f"{'batched' if batching else 'one by one'}, {clients} clients: {found[clients].as_dict()}")
    return found


def overload(model: Path, asked: Asked, rate: float, seconds: float) -> dict[str, Any]:
    with served(model) as server:
        asyncio.run(arrivals(server.port, rate, min(seconds, 5), asked.ask))
        before = server.memory_mb()
        load = asyncio.run(arrivals(server.port, rate, seconds, asked.ask))
        recovered = asyncio.run(until_ready(server.port, 30))
        grown = server.memory_mb() - before
    print(f"overload at {rate:.0f} requests per second: {load.as_dict()}, memory {grown:+.0f} MB")
    other = sum(count for status, count in load.statuses.items() if status not in (200, 503))
    return {"overload_non_200_503": other, "recover_s": round(recovered, 3), "overload_memory_mb": round(grown, 1)}


def disturbed(model: Path, asked: Asked, seconds: float, folder: Path) -> dict[str, int]:
    """A worker is killed after a third of the time, and the model reloaded after two thirds."""
    url = f"sqlite:///{folder}/users.db"
    with served(model, "--workers", "2", "--store", url) as server:
        counted = asyncio.run(_disturbed(server, asked, seconds))
    store = DatabaseStore(url)
    counted["lost_events"] = counted.pop("acknowledged") - store.count()
    store.close()
    print(f"killed and reloaded under load: {counted}")
    return counted


async def _disturbed(server: Server, asked: Asked, seconds: float) -> dict[str, int]:
    wrong, acknowledged, numbers = 0, 0, itertools.count()

    async def checked(connection: Connection, number: int) -> tuple[int, bytes]:
        nonlocal wrong
        status, answer = await asked.ask(connection, number)
        wrong += status == 200 and asked.is_wrong(number, answer)
        return status, answer

    async def event(connection: Connection, _: int) -> tuple[int, bytes]:
        """Sent again until it is acknowledged."""
        nonlocal acknowledged
        number = next(numbers)
        body = {"events": [{"event_id": f"e{number}", "user_id": f"u{number % 50}", "item_id": "a"}]}
        while True:
            try:
                status, answer = await connection.send("POST", "/v1/events", body, TOKEN)
            except LOST:
                await asyncio.sleep(0.05)
                continue
            if status == 200:
                acknowledged += 1
                return status, answer

    async def disturb() -> int:
        await asyncio.sleep(seconds / 3)
        server.workers()[0].kill()
        await asyncio.sleep(seconds / 3)
        status, _ = await Connection(server.port).send("POST", "/v1/models/reload", {}, TOKEN)
        return status

    lists, events, reloaded = await asyncio.gather(
        closed_loop(server.port, 8, seconds, checked), closed_loop(server.port, 2, seconds, event), disturb()
    )
    refused = sum(count for status, count in lists.statuses.items() if status not in (0, 200))
    return {
        "answers": lists.statuses[200],
        "wrong_answers": wrong,
        "lost_connections": lists.statuses[0],
        "other_statuses": refused,
        "reload_status": reloaded,
        "events": events.statuses[200],
        "acknowledged": acknowledged,
    }


def figures(batched: Mapping[int, Load], single: Mapping[int, Load]) -> dict[str, float]:
    return {
        **{f"rps_{clients}": round(load.rps, 1) for clients, load in batched.items()},
        "p99_ms_32": round(batched[32].percentile(0.99), 1),
        "batching_gain_32": round(batched[32].rps / max(single[32].rps, 1e-9), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a saved model; without it a small one is trained")
    parser.add_argument("--seconds", type=float, default=30.0, help="of every load")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sidrec-load-") as place:
        folder = Path(place)
        model = given.model or made_model(folder)
        asked = Asked.of(load_model(model))
        batched = loops(model, asked, given.seconds, batching=True)
        single = loops(model, asked, given.seconds, batching=False)
        found = figures(batched, single)
        found |= overload(model, asked, 3 * max(load.rps for load in batched.values()), given.seconds)
        found |= disturbed(model, asked, given.seconds, folder)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

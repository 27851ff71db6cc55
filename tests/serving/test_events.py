from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from sidrec.serving.app import create_app
from sidrec.serving.service import Service
from sidrec.serving.settings import ServeSettings
from sidrec.serving.user_store import DatabaseStore

pytestmark = pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")


def served(saved, store, tmp_path, token=None):
    users = DatabaseStore(f"sqlite:///{tmp_path}/users.db")
    return TestClient(create_app(Service.of(ServeSettings(models=saved), store, token, users)))


def send(client, *events, **more):
    return client.post("/v1/events", json={"events": list(events)}, **more)


def event(item, timestamp, user="u/7 ü"):
    return {"user_id": user, "item_id": item, "timestamp": timestamp}


def test_events_become_a_history_and_are_forgotten(saved, store, tmp_path):
    with served(saved, store, tmp_path) as client:
        assert send(client, event("P00002", 20), event("P00001", 10)).json() == {"acknowledged": 2, "new": 2}
        assert send(client, event("P00001", 10), event("P00003", 30)).json() == {"acknowledged": 2, "new": 1}
        found = client.get("/v1/users/u%2F7%20%C3%BC/recommend", params={"k": 3, "exclude_seen": True}).json()
        assert found["history"] == ["P00001", "P00002", "P00003"] and not found["fallback"]
        same = client.post("/v1/recommend", json={"user_id": "u/7 ü", "k": 3, "exclude_seen": True}).json()
        assert same["items"] == found["items"]
        assert client.delete("/v1/users/u%2F7%20%C3%BC").json() == {"events": 3}
        assert client.get("/v1/users/u%2F7%20%C3%BC/recommend").json()["fallback"] is True


def test_an_event_needs_something_to_be_known_by(saved, store, tmp_path):
    with served(saved, store, tmp_path) as client:
        assert send(client, {"user_id": "u", "item_id": "a"}).status_code == 422
        named = {"user_id": "u", "item_id": "a", "event_id": "e1"}
        assert [send(client, named).json()["new"] for _ in range(2)] == [1, 0]
        assert send(client, {**named, "user_id": "u\x00"}).status_code == 422
        assert client.get("/v1/users/%00/recommend").status_code == 422


def test_with_a_token_only_its_holder_writes(saved, store, tmp_path):
    with served(saved, store, tmp_path, "geheim") as client:
        assert send(client, event("a", 1)).status_code == 401
        assert client.delete("/v1/users/u").status_code == 401
        assert send(client, event("a", 1), headers={"authorization": "Bearer geheim"}).json()["new"] == 1
        assert client.get("/v1/users/u/recommend").status_code == 200


@pytest.mark.parametrize("user", ["a\nb", "a\rb", "a\0b"])
def test_nobody_is_kept_whom_no_route_can_forget(saved, store, tmp_path, user):
    with served(saved, store, tmp_path) as client:
        assert send(client, event("P00001", 10, user)).status_code == 422

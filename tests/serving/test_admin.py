from __future__ import annotations

import gc
import shutil
import weakref

import pytest
from fastapi.testclient import TestClient

from sidrec.models.registry import load_model
from sidrec.serving.app import create_app
from sidrec.serving.model_store import ModelStore
from sidrec.serving.sample_users import sample_users
from sidrec.serving.service import Service
from sidrec.serving.settings import ServeSettings

pytestmark = pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")
TOKEN = {"authorization": "Bearer geheim"}
NEW = {"items": [{"item_id": "N1", "title": "Brand new thing", "brand": "Acme"}]}


@pytest.fixture
def paths(saved, tmp_path):
    for name in ("llada", "popular"):
        shutil.copytree(saved[name], tmp_path / name)
    return {name: tmp_path / name for name in ("llada", "popular")}


@pytest.fixture
def models(paths):
    models = ModelStore(paths)
    models.load_all()
    return models


@pytest.fixture
def admin(paths, models):
    service = Service.of(ServeSettings(models=paths), models, "geheim")
    with TestClient(create_app(service), raise_server_exceptions=False, headers=TOKEN) as client:
        yield client


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer ", "Basic geheim", "geheim", "Bearer gehe\u00efm"])
def test_without_the_token_nothing_changes(admin, models, header):
    before = models.get("llada").version
    headers = {"authorization": "" if header is None else header.encode("latin-1")}
    for method, path, body in (
        ("POST", "/v1/items", NEW),
        ("PATCH", "/v1/items/P00001", {"removed": True}),
        ("DELETE", "/v1/items/P00001", None),
        ("POST", "/v1/models/reload", {}),
    ):
        answer = admin.request(method, path, json=body, headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert models.get("llada").version == before


def test_new_items_are_served_at_once_and_stay(admin, paths):
    assert admin.post("/v1/items", json=NEW).json()["item_ids"] == ["N1"]
    assert admin.get("/v1/items", params={"query": "brand new"}).json()["items"][0]["item_id"] == "N1"
    only = {"history": ["P00001"], "allow": ["N1"]}
    assert [item["item_id"] for item in admin.post("/v1/recommend", json=only).json()["items"]] == ["N1"]
    assert load_model(paths["llada"]).catalog.index_of(["N1"])[0] == 100, "written where the model came from"
    again = admin.post("/v1/items", json=NEW)
    assert again.status_code == 422 and "N1" in again.json()["detail"]


def test_items_are_changed_hidden_and_brought_back(admin, paths):
    only = {"history": ["P00002"], "allow": {"brand": "Zoll & Sons"}}
    changed = admin.patch("/v1/items/P00001", json={"fields": {"brand": "Zoll & Sons"}})
    assert changed.status_code == 200, changed.text
    assert [item["item_id"] for item in admin.post("/v1/recommend", json=only).json()["items"]] == ["P00001"]
    assert admin.delete("/v1/items/P00001").status_code == 200
    assert admin.post("/v1/recommend", json=only).json()["items"] == []
    assert admin.get("/v1/items/P00001").json()["removed"] is True
    assert admin.patch("/v1/items/P00001", json={"removed": False}).status_code == 200
    card = admin.get("/v1/items/P00001").json()
    assert (card["removed"], card["fields"]["brand"]) == (False, "Zoll & Sons")
    catalog = load_model(paths["llada"]).catalog
    assert catalog.frame["brand"][int(catalog.index_of(["P00001"])[0])] == "Zoll & Sons"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/items", {"items": [{"title": "no id"}]}, 422),
        ("POST", "/v1/items", {"items": [{"item_id": "N2", "nowhere": 1}]}, 422),
        ("POST", "/v1/items", {"items": [{"item_id": "N2", "title": 5}, {"item_id": "N3", "title": ["x"]}]}, 422),
        ("POST", "/v1/items", {**NEW, "model": "popular"}, 422),
        ("PATCH", "/v1/items/P00001", {}, 422),
        ("PATCH", "/v1/items/P00001", {"fields": {"item_id": "x"}}, 422),
        ("PATCH", "/v1/items/P00001", {"fields": {"nowhere": "x"}}, 422),
        ("PATCH", "/v1/items/P00001", {"removed": False}, 200),  # it was never gone
        ("PATCH", "/v1/items/nowhere", {"removed": True}, 404),
        ("DELETE", "/v1/items/nowhere", None, 404),
        ("POST", "/v1/models/reload", {"model": "nowhere"}, 404),
    ],
)
def test_what_cannot_be_done_changes_nothing(admin, models, method, path, body, status):
    before = models.get("llada").version
    answer = admin.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    assert models.get("llada").version == before


def test_a_new_version_is_loaded_and_a_broken_one_refused(admin, models, paths):
    model = load_model(paths["llada"])
    model.remove_items(["P00005"])
    model.save(paths["llada"])
    before = models.get("llada")
    assert before.stock.removed is None
    cards = admin.post("/v1/models/reload", json={"model": "llada"}).json()["models"]
    assert cards[0]["version"] == models.get("llada").version != before.version
    weights = paths["llada"] / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    refused = admin.post("/v1/models/reload", json={})
    assert refused.status_code == 409 and "weights.safetensors" in refused.json()["detail"]
    assert admin.post("/v1/recommend", json={"history": ["P00001"]}).json()["version"] == cards[0]["version"]


def test_workers_follow_each_other(paths, tmp_path):
    one, other = (ModelStore(paths, tmp_path) for _ in range(2))
    one.load_all()
    other.load_all()
    assert other.follow() == []
    changed = one.change("llada", lambda model: model.remove_items(["P00005"]))
    assert [loaded.version for loaded in other.follow()] == [changed.version]
    assert (one.follow(), other.follow()) == ([], [])


@pytest.mark.parametrize("item_id", [None, True, ["a", "b"], 1.5, "", "x" * 513])
def test_a_new_item_has_an_id_that_every_route_knows(admin, models, item_id):
    before = models.get("llada").version
    assert admin.post("/v1/items", json={"items": [{"item_id": item_id, "title": "x"}]}).status_code == 422
    assert models.get("llada").version == before


def test_values_of_several_kinds_are_refused_in_words(admin, models):
    before = models.get("llada").version
    answer = admin.patch("/v1/items/P00001", json={"fields": {"title": [1, "a"]}})
    assert answer.status_code == 422 and "Traceback" not in answer.text
    assert models.get("llada").version == before


def test_a_reload_of_all_happens_wholly_or_not_at_all(admin, models, paths):
    before = {loaded.name: loaded for loaded in models.all()}
    (paths["popular"] / "catalog.parquet").write_bytes(b"broken")
    assert admin.post("/v1/models/reload", json={}).status_code == 409
    assert {loaded.name: loaded for loaded in models.all()} == before


def test_a_token_may_have_letters_of_its_own(paths, models):
    service = Service.of(ServeSettings(models=paths), models, "gehéim")
    assert service.is_token("gehéim".encode().decode("latin-1"))
    assert not service.is_token("geheim")


def test_a_version_that_is_replaced_goes_with_its_samples(models):
    sample_users(models.get("llada"), 3)
    old = weakref.ref(models.get("llada"))
    models.reload("llada")
    gc.collect()
    assert old() is None


def test_a_worker_that_comes_later_tells_what_it_found(paths, tmp_path):
    (tmp_path / "shared").mkdir()
    first, second = (ModelStore(paths, tmp_path / "shared") for _ in range(2))
    first.load_all()
    changed = load_model(paths["llada"])
    changed.remove_items(["P00001"])
    changed.save(paths["llada"])
    second.load_all()
    assert first.get("llada").version != second.get("llada").version
    first.follow()
    assert first.get("llada").version == second.get("llada").version

from __future__ import annotations

import pytest

from sidrec.models.id_search import LeftToRightSearch
from sidrec.models.rpg import RPGSearch
from sidrec.serving.routes.models import free_options

pytestmark = pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")
HISTORY = ["P00001", "P00002"]


def ask(client, **question):
    return client.post("/v1/recommend", json={"history": HISTORY, **question})


def test_health(client):
    assert client.get("/health/live").json() == {"status": "ok"}
    assert client.get("/health/ready").status_code == 200


def test_models_say_what_they_can(client):
    cards = {card["name"]: card for card in client.get("/v1/models").json()["models"]}
    assert list(cards) == ["llada", "plus", "popular"]
    assert [card["default"] for card in cards.values()] == [True, False, False]
    can = {name: {key for key, has in card["capabilities"].items() if has} for name, card in cards.items()}
    assert can["llada"] == {"semantic_ids", "explains", "searches", "adds_items"}
    assert can["plus"] == {"semantic_ids", "explains", "steers", "adds_items"}
    assert can["popular"] == set()
    assert cards["llada"]["codebook_sizes"] == [8, 8, 8] and cards["llada"]["search"]["beam_size"] == 50
    assert cards["popular"]["codebook_sizes"] is None and cards["popular"]["search"] is None
    assert cards["llada"]["search_options"] == ["beam_size", "n_steps", "order"]
    assert cards["plus"]["search_options"] == cards["popular"]["search_options"] == []


def test_what_a_search_has_fixed_is_not_offered():
    assert free_options(LeftToRightSearch()) == ["beam_size"]
    assert free_options(RPGSearch()) == ["beam_size", "n_steps"]


@pytest.mark.parametrize("model", ["llada", "plus", "popular"])
def test_the_answer_is_the_librarys(client, store, model):
    found = ask(client, model=model, k=5, exclude_seen=True, deny="price_band=budget").json()
    loaded = store.get(model)
    known = loaded.model.recommend([HISTORY], k=5, exclude_seen=True, deny="price_band=budget")
    assert [item["item_id"] for item in found["items"]] == known.item_ids[0]
    assert [item["title"] for item in found["items"]] == known.titles[0]
    assert [item["score"] for item in found["items"]] == pytest.approx(known.scores[0], rel=1e-5)
    assert (found["name"], found["version"], found["fallback"]) == (model, loaded.version, False)
    assert found["history"] == HISTORY and found["milliseconds"] > 0 and found["steps"] is None


def test_semantic_ids_are_those_of_the_items(client, store):
    found = ask(client, k=3).json()["items"]
    catalog, codes = store.get("llada").stock.catalog, store.get("llada").codes
    items = catalog.index_of([item["item_id"] for item in found])
    assert [item["semantic_id"] for item in found] == codes[items].tolist()
    assert ask(client, k=1, model="popular").json()["items"][0]["semantic_id"] is None


def test_a_trace_shows_slots_codes_and_beams(client):
    found = ask(client, k=4, beam_size=6, trace=True).json()
    steps = found["steps"]
    assert [step["number"] for step in steps] == [1, 2, 3]
    first = steps[0]
    assert len(first["slots"]) == 3 and all(slot["likely"] for slot in first["slots"])
    surest = max(first["slots"], key=lambda slot: slot["confidence"])
    assert surest["filled_now"] and surest["likely"][0]["probability"] == pytest.approx(surest["confidence"])
    assert first["n_after"] == sum(first["children"]) == len(first["best"])
    assert 0 < first["n_fitting"] <= 100
    assert [tuple(candidate["codes"]) for candidate in steps[-1]["best"]] == [
        tuple(item["semantic_id"]) for item in found["items"]
    ]


def test_the_search_can_be_changed(client):
    two = ask(client, k=2, n_steps=1, order="left-to-right", trace=True).json()
    assert len(two["steps"]) == 1
    assert ask(client, n_steps=4).json()["detail"].startswith("The search cannot run: n_steps is 4, choose 1 to 3")
    refused = ask(client, model="plus", beam_size=5)
    assert refused.status_code == 422 and "does not search; leave out beam_size" in refused.json()["detail"]


def test_plus_is_steered(client, store):
    codes = store.get("plus").codes
    found = ask(client, model="plus", like="P00005", keep=[1], k=50).json()["items"]
    like = codes[store.get("plus").item("P00005")][0]
    assert found and all(item["semantic_id"][0] == like for item in found)
    refused = ask(client, like="P00005", keep=[1])
    assert refused.status_code == 422 and "cannot be steered" in refused.json()["detail"]


def test_nothing_known_is_said_also_with_a_trace(client):
    found = client.post("/v1/recommend", json={"history": ["nowhere"], "k": 2, "trace": True}).json()
    assert found["fallback"] and found["unknown_items"] == 1 and found["steps"] is None and len(found["items"]) == 2


def test_a_batch_is_the_single_answers(client):
    histories = [HISTORY, ["P00003"], []]
    found = client.post("/v1/recommend/batch", json={"histories": histories, "k": 3}).json()["answers"]
    for history, answer in zip(histories, found, strict=True):
        one = client.post("/v1/recommend", json={"history": history, "k": 3}).json()
        assert [item["item_id"] for item in answer["items"]] == [item["item_id"] for item in one["items"]]


def test_items_are_found_and_shown(client, store):
    stock = store.get("llada").stock
    title = stock.catalog.titles[7]
    assert title in [item["title"] for item in client.get("/v1/items", params={"query": title}).json()["items"]]
    by_id = client.get("/v1/items", params={"query": "P00009"}).json()["items"]
    assert by_id[0]["item_id"] == "P00009"
    card = client.get("/v1/items/P00009", params={"neighbours": 5}).json()
    assert card["fields"]["item_id"] == "P00009" and card["removed"] is False
    assert sum(card["alike"]) == 99 and len(card["alike"]) == 4
    item, codes = store.get("llada").item("P00009"), stock.ids.codes
    for other in card["neighbours"]:
        same = codes[item] == codes[store.get("llada").item(other["item_id"])]
        assert other["shared"] == [slot + 1 for slot in range(3) if same[slot]]
    shared = [len(other["shared"]) for other in card["neighbours"]]
    assert shared == sorted(shared, reverse=True)


def test_the_map_counts_every_item(client, store):
    found = client.get("/v1/map", params={"x": 1, "y": 3}).json()
    codes = store.get("llada").codes
    assert sum(cell["count"] for cell in found["cells"]) == 100
    cell = found["cells"][0]
    assert cell["count"] == ((codes[:, 0] == cell["x"]) & (codes[:, 2] == cell["y"])).sum() and cell["titles"]
    assert client.get("/v1/map", params={"x": 4}).status_code == 422
    assert client.get("/v1/map", params={"model": "popular"}).status_code == 422


def test_sample_users_have_no_ids_and_a_next_item(client):
    found = client.get("/v1/users/sample").json()
    assert len(found["users"]) == 24 and found["why_none"] is None
    assert {"name", "history", "came_next"} == set(found["users"][0])
    assert found == client.get("/v1/users/sample").json()


def test_metrics_name_route_and_version(client, store):
    ask(client)
    text = client.get("/metrics").text
    assert 'sidrec_request_seconds_count{route="/v1/recommend",status="200"} 1.0' in text
    assert f'sidrec_model_loaded_info{{model="llada",version="{store.get("llada").version}"}} 1.0' in text
    assert 'sidrec_batch_size_bucket{le="1.0"} 1.0' in text


def test_the_page_loads_nothing_from_elsewhere(client):
    page = client.get("/")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"].startswith("default-src 'self';")
    assert page.headers["x-content-type-options"] == "nosniff"

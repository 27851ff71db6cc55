"""What a stranger could send: the documented 4xx in one shape, and never anything from inside."""

from __future__ import annotations

import json

import pytest

from sidrec.serving.questions import MOST_BYTES, MOST_LISTED

pytestmark = pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")
JSON = {"content-type": "application/json"}


def refused(answer, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status and body["title"] and "Traceback" not in answer.text
    return body["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"", 422),
        (b"null", 422),
        (b"[]", 422),
        (b'"text"', 422),
        (b"[" * 5_000, 400),
        (b'{"history": ["a"], "k": 1e400}', 422),
        (b'{"history": ["a"], "k": NaN}', 422),
        (b'{"history": ["a"], "k": ' + b"9" * 5_000 + b"}", 400),
        (b'{"history": ["a"], "allow": {"price": {"<": Infinity}}}', 422),
        (b'{"history": ["a"], "allow": {"price": {"<": 1e999}}}', 422),
        (b'{"history": ["a"], "allow": {"price": 1' + b"0" * 400 + b"}}", 422),
        (b'{"history": ["\\ud800"]}', 422),
        (b'{"\\ud800": 1, "history": []}', 422),
    ],
)
def test_bodies_that_are_no_question(client, body, status):
    refused(client.post("/v1/recommend", content=body, headers=JSON), status)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"k": 0}, "body.k"),
        ({"k": 501}, "body.k"),
        ({"k": "many"}, "body.k"),
        ({"history": None}, "give either history"),
        ({"user_id": "u"}, "give either history"),
        ({"history": "P00001"}, "body.history"),
        ({"history": ["P00001"] * 2_001}, "body.history"),
        ({"history": [""]}, "body.history"),
        ({"beam_size": 501}, "body.beam_size"),
        ({"order": "sideways"}, "body.order"),
        ({"kk": 1}, "body.kk"),
        ({"like": "P00001"}, "like and keep belong together"),
        ({"allow": "brand"}, "cannot be read"),
        ({"allow": {"nowhere": 1}}, "no column nowhere"),
        ({"deny": {"brand": {"<<": 1}}}, "body.deny"),
        ({"model": "plus", "like": "nowhere", "keep": [1]}, "'nowhere' is not in the catalogue"),
        ({"model": "plus", "like": "P00001", "keep": [9]}, "name code slots from 1 to 3"),
        ({"model": "popular", "trace": True}, "does not generate step by step"),
    ],
)
def test_questions_that_cannot_be_answered(client, question, words):
    assert words in refused(client.post("/v1/recommend", json={"history": ["P00001"], **question}), 422)


def test_a_model_that_is_not_there(client):
    answer = client.post("/v1/recommend", json={"history": ["a"], "model": "../../etc/passwd"})
    assert "there are: llada, plus, popular" in refused(answer, 404)
    assert "no histories of users" in refused(client.post("/v1/recommend", json={"user_id": "u"}), 404)


def test_ten_megabytes_are_refused_with_and_without_a_length(client):
    body = json.dumps({"history": ["x" * 10_000_000]}).encode()
    assert f"{MOST_BYTES:,} bytes" in refused(client.post("/v1/recommend", content=body, headers=JSON), 413)
    parts = (body[start : start + 65_536] for start in range(0, len(body), 65_536))
    refused(client.post("/v1/recommend", content=parts, headers=JSON), 413)


def test_a_million_allowed_items_are_too_many(client):
    many = [f"P{number}" for number in range(1_000_000)]
    refused(client.post("/v1/recommend", json={"history": ["a"], "allow": many}), 413)
    refused(client.post("/v1/recommend", json={"history": ["a"], "allow": many[: MOST_LISTED + 1]}), 422)
    found = client.post("/v1/recommend", json={"history": ["a"], "allow": ["P00001", *many[:5_000]]})
    assert [item["item_id"] for item in found.json()["items"]] == ["P00001"]


@pytest.mark.parametrize(
    "path", ["/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fsetup.py", "/%00", "/index.html%00.js"]
)
def test_path_tricks_find_nothing(client, path):
    refused(client.get(path), 404)


@pytest.mark.parametrize("item_id", ["nowhere", "%2e%2e%2fx", "a/b", "%00", "%ff", "<script>"])
def test_items_that_are_not_there(client, item_id):
    refused(client.get(f"/v1/items/{item_id}"), 404)


def test_wrong_methods_and_unknown_routes(client):
    refused(client.put("/v1/recommend", json={}), 405)
    refused(client.get("/v1/nothing"), 404)
    for method, path in (("POST", "/v1/items"), ("DELETE", "/v1/items/P00001"), ("POST", "/v1/models/reload")):
        assert client.request(method, path, json={}).status_code in (404, 405), "there are no admin routes"


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": "x"}, {"query": "x" * 201}, {"model": ""}])
def test_wrong_queries(client, params):
    refused(client.get("/v1/items", params=params), 422)


def test_a_defect_tells_nothing_of_the_inside(client, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr("sidrec.serving.routes.items.code_map", broken)
    assert refused(client.get("/v1/map"), 500) == "a defect of the service; its log has the details."

"""The OpenAPI description against the service: whatever it allows is answered as it says."""

from __future__ import annotations

import shutil

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from sidrec.serving.app import create_app
from sidrec.serving.model_store import ModelStore
from sidrec.serving.service import Service
from sidrec.serving.settings import ServeSettings
from sidrec.serving.user_store import DatabaseStore

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def described(saved, tmp_path_factory):
    folder = tmp_path_factory.mktemp("described")
    for name in ("llada", "popular"):
        shutil.copytree(saved[name], folder / name)
    paths = {name: folder / name for name in ("llada", "popular")}
    models = ModelStore(paths)
    models.load_all()
    users = DatabaseStore(f"sqlite:///{folder}/users.db")
    service = Service.of(ServeSettings(models=paths), models, "geheim", users)
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(service))


def test_every_answer_is_as_described(described):
    names = []
    for found in described.get_all_operations():
        operation = found.ok()
        names.append(operation.label)

        @settings(
            max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy())
        def ask(case):
            # the token goes with every call; which items and columns there are is no part of a description
            case.call_and_validate(
                headers={"authorization": "Bearer geheim"}, excluded_checks=[positive_data_acceptance, ignored_auth]
            )

        ask()
    assert len(names) == 17 and "POST /v1/models/reload" in names


def test_every_body_that_can_be_sent_has_an_example(described):
    found = described.raw_schema
    bodies = [
        route["requestBody"] for path in found["paths"].values() for route in path.values() if "requestBody" in route
    ]
    names = {body["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[1] for body in bodies}
    assert len(names) == 6
    assert [name for name in names if not found["components"]["schemas"][name].get("examples")] == []


def test_the_description_has_examples_and_problems(client):
    found = client.get("/openapi.json").json()
    assert found["paths"]["/v1/recommend"]["post"]["responses"]["503"]["content"].keys() == {"application/problem+json"}
    assert found["components"]["schemas"]["RecommendQuestion"]["examples"]
    assert "Problem" in found["components"]["schemas"] and "HTTPValidationError" not in found["components"]["schemas"]

from __future__ import annotations

import sys
import time
from pathlib import Path

import httpx
import pytest
import yaml
from fastapi.testclient import TestClient

from sidrec.cli.app import main
from sidrec.cluster.serving import NAME, RaySettings, application, deploy, remove, serving_session
from sidrec.core.errors import SettingsError
from sidrec.data.synthetic import demo_shop
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.serving.run import listening, loaded_app
from sidrec.serving.settings import ServeSettings

pytestmark = pytest.mark.filterwarnings(r"ignore:Using extra keyword arguments on `Field`:DeprecationWarning")
CONFIG = Path(__file__).parents[2] / "docs" / "serve.yaml"
TINY = {
    "d_model": 8,
    "n_heads": 2,
    "n_layers": 1,
    "embedding": {"encoder": "tfidf"},
    "tokenize": {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 8, "pca": None}},
    "training": {"epochs": 1, "batch_size": 128, "metric": None},
}


def test_replicas_are_in_order():
    with pytest.raises(SettingsError, match="min_replicas is 3, more than max_replicas 2"):
        RaySettings.parse({"min_replicas": 3, "max_replicas": 2}, owner="serve on ray")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"models": {"m": "x"}, "store": "sqlite:///users.db"}, "cannot share an SQLite file"),
        ({"models": {"m": "x"}, "workers": 2}, "replicas instead of workers"),
        ({"models": {"m": "x"}, "max_bath": 2}, "did you mean max_batch"),
    ],
)
def test_what_cannot_be_is_refused_before_ray_is_asked(args, words):
    with pytest.raises(SettingsError, match=words):
        application(args)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "spark"], "--on spark: a service runs on this machine or on ray"),
        (["--replicas", "2"], "belong to Ray; say --on ray"),
        (["--on", "ray", "--min-replicas", "3", "--max-replicas", "2"], "min_replicas is 3, more than max_replicas 2"),
        (["--on", "ray"], "nowhere: no such directory"),
        (["--on", "ray", "--workers", "2"], "replicas instead of workers"),  # before the model is even looked for
        (["--on", "ray", "--store", "sqlite:///u.db"], "cannot share an SQLite file"),
    ],
)
def test_wrong_options_are_one_sentence(words, said, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sidrec", "serve", "nowhere", "--port", "0", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2 and said in capsys.readouterr().err


@pytest.mark.slow
def test_the_config_names_an_application():
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    (app,) = config["applications"]
    assert app["import_path"] == f"{application.__module__}:{application.__name__}"
    deployment = application(app["args"])._bound_deployment
    assert deployment.name == "Recommender"
    assert deployment._deployment_config.autoscaling_config.max_replicas == 20
    assert deployment.ray_actor_options["num_cpus"] == 2


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> ServeSettings:
    folder = tmp_path_factory.mktemp("on_ray")
    LLaDARec(**TINY).fit(demo_shop(n_items=60, n_users=60)).save(folder / "m")
    chosen = ServeSettings(models={"m": folder / "m"}, port=0, torch_threads=1)
    with listening(chosen) as taken:
        return chosen.model_copy(update={"port": taken.getsockname()[1]})


@pytest.mark.slow
def test_replicas_answer_as_the_local_app_does_and_are_replaced(settings):
    asked = [{"history": [f"P{n:05d}", f"P{n + 1:05d}"], "k": 5, "exclude_seen": bool(n % 2)} for n in range(1, 9)]
    with TestClient(loaded_app(settings)) as here:
        expected = [answer_of(here, question) for question in asked]
        wrong = here.post("/v1/recommend", json={"history": ["P00001"], "k": 0}).json()
    with serving_session(num_cpus=2) as ray:
        deploy(settings, RaySettings(replicas=2, cpus=0.5))
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{settings.port}", timeout=60) as there:
                assert [answer_of(there, question) for question in asked] == expected
                assert there.post("/v1/recommend", json={"history": ["P00001"], "k": 0}).json() == wrong
                several = {"histories": [question["history"] for question in asked], "k": 5}
                assert there.post("/v1/recommend/batch", json=several).status_code == 200
                before = replicas(ray)
                assert len(before) == 2
                ray.kill(ray.get_actor(before[0], namespace="serve"))
                assert eventually(lambda: len(set(replicas(ray)) - {before[0]}) == 2)
                assert [answer_of(there, question) for question in asked] == expected
        finally:
            remove()


def answer_of(client, question):
    for _ in range(20):  # a request that was with the killed replica is refused, and asked again
        found = client.post("/v1/recommend", json=question)
        if found.status_code == 200:
            return [(item["item_id"], round(item["score"], 4)) for item in found.json()["items"]]
        time.sleep(0.5)
    raise AssertionError(found.text)


def replicas(ray) -> list[str]:
    named = ray.util.list_named_actors(all_namespaces=True)
    return sorted(row["name"] for row in named if row["name"].startswith(f"SERVE_REPLICA::{NAME}#"))


def eventually(fact) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if fact():
            return True
        time.sleep(0.2)
    return False

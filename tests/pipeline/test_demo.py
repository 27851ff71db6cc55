from __future__ import annotations

import io
import json

import pytest

from reference.tiny_recipe import TINY
from sidrec.core.progress import LineProgress
from sidrec.data.dataset import Dataset
from sidrec.models.ingredients import Data, Vectors
from sidrec.models.registry import load_model
from sidrec.pipeline import demo
from sidrec.pipeline.demo import DemoSize, judged, run_demo, shopper_examples
from sidrec.pipeline.recipes import read_recipe

pytestmark = pytest.mark.slow

SMALL = DemoSize(n_items=150, n_users=60)
KEYS = ["popularity", "llada-rec"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module", autouse=True)
def quick_recipes(folder):
    """The demo's steps with models that train in a second."""
    (folder / "tiny.toml").write_text(TINY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "RIVALS", ("demo/popularity",))
        patch.setattr(demo, "FLAGSHIP", str(folder / "tiny.toml"))
        yield


@pytest.fixture(scope="module")
def result(folder, quick_recipes):
    return run_demo(folder, SMALL)


def test_every_recipe_is_trained_and_judged(result, folder):
    assert list(result.evaluations) == KEYS
    for key in KEYS:
        assert load_model(folder / key).key == key
        assert judged(folder, key).is_dir()
        assert result.evaluations[key].users == 60
    assert result.statistics["items"] == 150
    assert result.health["unique_ids"] == 150
    assert json.loads(json.dumps(result.as_dict()))["models"]["popularity"]["users"] == 60


def test_the_explained_generation_is_the_first_shoppers(result, folder):
    data = Dataset.load(folder / "data")
    assert data.catalog.index_of(result.explained.history).tolist() == data.sequences[0][:-1].tolist()
    shown = [data.catalog.titles[item] for item in result.explained.generation.ranking.items[0]]
    assert shown == result.examples[0].recommended


def test_examples_tell_the_truth_in_titles(result, folder):
    data = Dataset.load(folder / "data")
    titles = data.catalog.titles
    first, *_, last = result.examples
    assert [titles[item] for item in data.sequences[0]] == [*first.history, first.bought_next]
    assert [titles[item] for item in data.sequences[59]] == [*last.history, last.bought_next]
    model = load_model(folder / result.recommender)
    shown = model.recommend(
        [[data.catalog.item_ids[int(item)] for item in data.sequences[0][:-1]]], 5, exclude_seen=True
    )
    assert first.recommended == shown.titles[0]
    assert len(shopper_examples(model, data, n_shoppers=1, k=2)[0].recommended) == 2


def test_a_second_run_finds_everything_finished(result, folder):
    stream = io.StringIO()
    again = run_demo(folder, SMALL, LineProgress(stream))
    assert again.as_dict() == result.as_dict()
    found = [line.split(":")[0] for line in stream.getvalue().splitlines() if "already there" in line]
    assert [str(folder / "data"), *(str(folder / f"{key}-evaluation") for key in KEYS)] == [
        name for name in found if name.endswith(("data", "-evaluation"))
    ]


def test_plus_and_the_flagship_read_the_texts_once():
    shop = Data("data")
    names = []
    for recipe in map(read_recipe, ("demo/llada-rec", "demo/llada-rec-plus")):
        settings = recipe.build().settings
        names.append(Vectors(shop, settings.embedding).name)
    assert names[0] == names[1]

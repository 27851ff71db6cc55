from __future__ import annotations

import pytest

from reference.small_plan import SETTINGS, TOKENIZER, small_plan, small_shop
from sidrec.core.artifacts import open_artifact
from sidrec.models.registry import find_model
from sidrec.pipeline.benchmark.cells import cells_of
from sidrec.pipeline.benchmark.runner import benchmark
from sidrec.pipeline.stages import made_first, model_stage


def stage(key: str, **values):
    return model_stage("shop", key, find_model(key).settings(values, where="here"), seed=0)


def test_what_is_made_first():
    assert made_first(stage("popularity")) == made_first(stage("sasrec-ce")) == []
    assert [each.room for each in made_first(stage("llada-rec"))] == ["embeddings", "sids"]
    from_model = stage("llada-rec", embedding={"from_model": "sasrec-ce"})
    assert [each.room for each in made_first(from_model)] == ["models", "embeddings", "sids"]
    assert made_first(stage("llada-rec-plus", item_vectors={"codes": False})) == []


@pytest.mark.slow
def test_rows_of_a_benchmark_share_a_model_that_is_a_row_and_a_source(tmp_path):
    rows = [{"label": "IDs from sasrec-ce", "set": {"tokenize": TOKENIZER, "embedding": {"from_model": "sasrec-ce"}}}]
    section = {"name": "ids", "title": "IDs", "models": ["sasrec-ce"], "variants": rows}
    plan = small_plan(small_shop(tmp_path), section=[section], settings=SETTINGS)
    first, second = (cell.stage for cell in cells_of(plan))
    assert made_first(second)[0].name == first.name
    result = benchmark(plan, tmp_path / "out")
    assert [record.status for record in result.records] == ["done", "done"]
    assert sorted(path.name for path in (tmp_path / "out" / "models").iterdir()) == sorted([first.name, second.name])
    ids = open_artifact(tmp_path / "out" / "sids" / second.ids.name, "sids")
    vectors = open_artifact(tmp_path / "out" / "embeddings" / second.ids.vectors.name, "embeddings")
    assert ids.made_from == {"embeddings": vectors.fingerprint}


def test_a_source_that_fails_fails_what_stands_on_it_only(tmp_path):
    bad = {"from_model": "sasrec-ce", "model_settings": {"training": {"learning_rate": 1e30}}}
    rows = [{"label": "bad", "set": {"tokenize": TOKENIZER, "embedding": bad}}]
    section = {"name": "ids", "title": "IDs", "models": ["popularity"], "variants": rows}
    result = benchmark(small_plan(small_shop(tmp_path), section=[section]), tmp_path / "out")
    assert {record.label: record.status for record in result.records} == {"popularity": "done", "bad": "failed"}
    assert "sasrec-ce" in result.failed[0].message

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


def test_a_tokenizer_of_text_and_behaviour_has_both_made_first():
    rooms = [each.room for each in made_first(stage("letter"))]
    assert sorted(rooms) == ["embeddings", "embeddings", "models", "sids"] and rooms[-1] == "sids"


def test_one_trained_model_serves_all_rows_that_need_its_vectors(tmp_path):
    section = {"name": "ids", "title": "IDs", "models": ["sasrec-ce", "tiger-sas", "letter"]}
    source, *others = (cell.stage for cell in cells_of(small_plan(small_shop(tmp_path), section=[section])))
    for other in others:
        assert [each.name for each in made_first(other) if each.room == "models"] == [source.name]
    shared = {each.name for each in made_first(others[0])} & {each.name for each in made_first(others[1])}
    assert len(shared) == 2  # the model and the vectors taken from it


@pytest.mark.slow
def test_tiger_sas_and_letter_run_beside_the_model_they_need(tmp_path):
    ids = {"options": {"codebook_size": 8, "training": {"epochs": 2}}}
    rows = [{"label": key, "model": key, "set": {"tokenize": ids}} for key in ("tiger-sas", "letter")]
    section = {"name": "ids", "title": "IDs", "models": ["sasrec-ce"], "variants": rows}
    result = benchmark(small_plan(small_shop(tmp_path), section=[section]), tmp_path / "out")
    assert [record.status for record in result.records] == ["done"] * 3
    assert len(list((tmp_path / "out" / "models").iterdir())) == 3


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

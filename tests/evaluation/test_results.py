from __future__ import annotations

import json

import pytest

from sidrec.core.artifacts import Origin, write, write_json
from sidrec.core.errors import ArtifactError
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.results import KIND, RANKS_FILE, RESULTS_FILE, TIMING_FILE, Evaluation
from sidrec.models.popularity import Popularity

PROMISED = {
    *("recall@1", "recall@5", "recall@10", "ndcg@5", "ndcg@10", "code_match_recall@10"),
    *("invalid_rate", "duplicate_rate", "collision_rate", "users", "users_per_s", "seconds", "exclude_seen"),
    *("intervals", "by_history_length", "by_item_popularity", "model", "dataset", "split"),
}


@pytest.fixture(scope="module")
def result(shop) -> Evaluation:
    return evaluate(Popularity().fit(shop), shop)


def test_json_has_the_promised_keys(result):
    found = json.loads(json.dumps(result.as_dict()))
    assert set(found) >= PROMISED
    assert found["recall@10"] == result.recall[10]
    assert found["ndcg@5"] == result.ndcg[5]
    assert len(found["intervals"]["recall@10"]) == 2
    assert sum(part["users"] for part in found["by_history_length"].values()) == 90
    assert sum(part["users"] for part in found["by_item_popularity"].values()) == 90


def test_what_is_written_is_read_back_whole(result, tmp_path):
    with write(tmp_path / "run", Origin(KIND)) as directory:
        result.write_files(directory)
    loaded = Evaluation.load(tmp_path / "run")
    assert loaded.as_dict() == result.as_dict()
    assert loaded.ranks.equals(result.ranks)
    assert loaded.recall == result.recall


def test_results_of_another_version_are_refused(result, tmp_path):
    with write(tmp_path / "run", Origin(KIND)) as directory:
        result.ranks.write_parquet(directory / RANKS_FILE)
        write_json(directory / RESULTS_FILE, {"recall": 1})
        write_json(directory / TIMING_FILE, {"seconds": 1.0, "users_per_s": 1.0})
    with pytest.raises(ArtifactError, match=r"results\.json: model: field required"):
        Evaluation.load(tmp_path / "run")

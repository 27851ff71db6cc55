from __future__ import annotations

import numpy as np
import pytest

from reference.oracle import Oracle
from sidrec.core.artifacts import Origin, write
from sidrec.core.errors import ArtifactError, InputError
from sidrec.evaluation.compare import compare
from sidrec.evaluation.evaluate import evaluate
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.evaluation.results import KIND


def run(shop, places, **settings):
    return evaluate(Oracle(shop, np.resize(places, 90)), shop, EvaluationSettings(**settings))


def save(result, path):
    with write(path, Origin(KIND)) as directory:
        result.write_files(directory)
    return path


def test_a_clear_winner_and_a_draw(shop):
    good, twin, bad = run(shop, [0, 0, 1, -1]), run(shop, [0, 1, 0, -1]), run(shop, [-1, 9, -1, -1])
    found = {
        (row.first, row.second): row
        for row in compare({"good": good, "twin": twin, "bad": bad}, metrics=["ndcg@10"]).differences
    }
    assert len(found) == 3
    assert found["good", "bad"].real
    assert found["good", "bad"].verdict == "good is better"
    assert found["good", "bad"].difference == pytest.approx(bad.ndcg[10] - good.ndcg[10])
    assert found["good", "bad"].high < 0
    assert found["good", "bad"].users == 90
    assert found["good", "twin"].verdict == "could be chance"
    assert found["good", "twin"].low < 0 < found["good", "twin"].high
    assert found["good", "bad"].p_adjusted >= found["good", "bad"].p_t_test


def test_by_default_recall_and_ndcg_at_the_deepest_common_place(shop):
    runs = {"a": run(shop, [0, -1], ks=(1, 5, 20)), "b": run(shop, [1, -1], ks=(1, 5, 10))}
    assert [row.metric for row in compare(runs).differences] == ["recall@5", "ndcg@5"]
    ones = {"a": run(shop, [0, -1], ks=(1,)), "b": run(shop, [1, -1], ks=(1, 5))}
    assert [row.metric for row in compare(ones).differences] == ["recall@1"]


def test_only_shared_users_count(shop):
    whole, part = run(shop, [0]), run(shop, [0], users=30)
    (row,) = compare({"whole": whole, "part": part}, metrics=["recall@1"]).differences
    assert row.users == 30
    assert (row.first_value, row.second_value, row.p_adjusted) == (1.0, 1.0, 1.0)


def test_what_cannot_be_compared_says_why(shop):
    first = run(shop, [0])
    with pytest.raises(InputError, match="at least two evaluated runs"):
        compare({"a": first})
    with pytest.raises(InputError, match=r"a and b cannot be compared: their exclude_seen differs \(False and True\)"):
        compare({"a": first, "b": run(shop, [0], exclude_seen=True)})
    with pytest.raises(InputError, match="no k in common"):
        compare({"a": run(shop, [0], ks=(3,)), "b": first})
    with pytest.raises(InputError, match="'ndcg@7' was not measured in all runs; they share: recall@1"):
        compare({"a": first, "b": first}, metrics=["ndcg@7"])


def test_saved_runs_are_called_by_their_folders(shop, tmp_path):
    one, two = save(run(shop, [0]), tmp_path / "x" / "one"), save(run(shop, [3]), tmp_path / "x" / "two")
    rows = compare(one, two, metrics=["recall@1"]).as_dict()["differences"]
    assert [(row["first"], row["second"], row["verdict"]) for row in rows] == [("one", "two", "one is better")]
    same = save(run(shop, [3]), tmp_path / "y" / "one")
    assert compare(one, same).differences[0].first == str(one)
    with pytest.raises(InputError, match="the same run was given twice"):
        compare(one, one)
    (two / "results.json").unlink()
    with pytest.raises(ArtifactError, match=r"results\.json: missing"):
        compare(one, two)

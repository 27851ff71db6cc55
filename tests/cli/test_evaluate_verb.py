from __future__ import annotations

import json
import shutil
import sys

import pytest

from sidrec.cli.app import main
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import cycle, demo_shop
from sidrec.models.popularity import Popularity


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A dataset and a model of it, and a dataset of another shop."""
    folder = tmp_path_factory.mktemp("cli")
    demo_shop(n_items=100, n_users=40).save(folder / "data")
    cycle().save(folder / "other")
    Popularity().fit(Dataset.load(folder / "data"), out=folder / "model")
    return folder


@pytest.fixture
def run(monkeypatch, capsys, folder):
    """Run a command line inside the folder; gives exit code, output and errors."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def test_tables_and_what_was_written(run, folder):
    code, out, _ = run("evaluate", "model", "--data", "data", "--out", "judged")
    assert code == 0
    assert "popularity: 40 users, test items, full ranking, the user's own items included" in out
    assert "recall@10" in out
    assert out.splitlines()[-2:] == [
        "wrote judged",
        "then: sidrec compare judged OTHER, where OTHER is the evaluation of another model",
    ]
    assert (folder / "judged" / "ranks.parquet").is_file()
    assert "already there, nothing to do" in run("evaluate", "model", "--data", "data", "--out", "judged")[2]


def test_a_model_knows_its_data(run, folder, tmp_path):
    given, found = run("evaluate", "model", "--data", "data", "--json"), run("evaluate", "model", "--json")
    assert (found[0], json.loads(found[1])["ndcg@10"]) == (0, json.loads(given[1])["ndcg@10"])
    moved = shutil.copytree(folder, tmp_path / "moved")  # both together
    assert Popularity.load(moved / "model").data_path == moved / "data"
    shutil.rmtree(moved / "data")
    code, _, errors = run("evaluate", str(moved / "model"))
    assert (code, "which is not there; say where it is now (--data)." in " ".join(errors.split())) == (2, True)


def test_a_model_of_a_frame_asks_for_data(run, folder):
    Popularity().fit(demo_shop(n_items=100, n_users=40), out=folder / "framed")
    code, _, errors = run("evaluate", "framed")
    assert (code, "framed: does not say where its training data are; give a prepared dataset (--data)." in errors) == (
        2,
        True,
    )


def test_one_json_object(run):
    words = ("--split", "validation", "--k", "3", "--k", "7", "--exclude-seen", "--users", "25", "--json")
    code, out, _ = run("evaluate", "model", "--data", "data", *words)
    found = json.loads(out)
    assert code == 0
    assert (found["split"], found["users"], found["exclude_seen"]) == ("validation", 25, True)
    assert {"recall@3", "ndcg@7", "code_match_recall@7", "users_per_s"} <= set(found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("model", "--data", "other"), "sidrec: model: was trained on another catalogue (100 items, the data has 40)"),
        (("model", "--data", "nothing"), "sidrec: nothing: no such directory; make one with `sidrec data prepare`."),
        (("data", "--data", "data"), "is a dataset artefact, a model artefact is needed"),
        (("model", "--data", "data", "--split", "train"), "split: should be 'validation' or 'test' (got 'train')"),
        (("model", "--data", "data", "--k", "0"), "should be greater than or equal to 1 (got 0)"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(run, words, message):
    code, out, errors = run("evaluate", *words)
    assert code == 2
    assert message in errors
    assert out == ""
    assert "Traceback" not in errors


def test_without_a_place_it_is_kept_beside_the_model(run, folder):
    code, out, _ = run("evaluate", "model", "--split", "validation", "--k", "3")
    place = folder / "model-evaluation-validation-at3"
    assert code == 0
    assert (place / "ranks.parquet").is_file()
    assert f"wrote {place.name}" in out
    assert "already there, nothing to do" in run("evaluate", "model", "--split", "validation", "--k", "3")[2]
    Popularity().fit(demo_shop(n_items=100, n_users=40, seed=3)).save(folder / "stranger")
    (folder / "stranger").rename(folder / "stranger-evaluation")
    shutil.copytree(folder / "model", folder / "stranger")
    code, _, errors = run("evaluate", "stranger", "--data", "data", "--out", "stranger-evaluation")
    assert code == 2
    assert "holds a model" in errors

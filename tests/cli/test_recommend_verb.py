from __future__ import annotations

import json
import sys

import polars as pl
import pytest

from sidrec.cli.app import main
from sidrec.data.dataset import Dataset
from sidrec.data.synthetic import demo_shop
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.llada_rec_plus.recommender import LLaDARecPlus
from sidrec.models.popularity import Popularity
from sidrec.models.registry import load_model

IDS = {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 8, "pca": None}}
TINY = {
    "d_model": 16,
    "n_heads": 2,
    "n_layers": 1,
    "max_history": 4,
    "attention": "prefix",
    "embedding": {"encoder": "tfidf"},
    "tokenize": IDS,
    "training": {"epochs": 1, "batch_size": 128, "metric": None},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    shop = demo_shop(n_items=100, n_users=60)
    Popularity().fit(shop).save(folder / "popular")
    shop.save(folder / "shop")
    Popularity().fit(Dataset.load(folder / "shop")).save(folder / "popular-here")
    LLaDARec(**TINY).fit(shop).save(folder / "model")
    plain = {name: value for name, value in TINY.items() if name != "attention"}
    LLaDARecPlus(**plain).fit(shop).save(folder / "plus")
    return folder


@pytest.fixture
def run(monkeypatch, capsys, folder):
    """Run a command line inside the folder; gives exit code, output and errors."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["sidrec", "recommend", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


@pytest.mark.parametrize("model", ["model", "popular"])
def test_a_readable_list_of_every_model(run, model):
    code, out, _ = run(model, "--history", "P00001, P00002,nowhere", "-k", "3")
    assert code == 0
    assert [line.split("│")[1].strip() for line in out.splitlines() if "│ P" in line] == ["1", "2", "3"]
    assert "1 of the history's items is not in the catalogue; skipped." in out
    assert f"next: sidrec recommend {model} --history P00001,P00002,nowhere" in out


def test_one_json_object(run):
    code, out, _ = run("model", "--history", "P00001", "--history", "P00002", "-k", "4", "--exclude-seen", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["model"], found["history"]) == ("llada-rec", ["P00001", "P00002"])
    assert (found["fallback"], found["unknown_items"], len(found["items"])) == (False, 0, 4)
    assert not {"P00001", "P00002"} & {item["item_id"] for item in found["items"]}
    assert [set(item) for item in found["items"]] == [{"item_id", "title", "score", "semantic_id"}] * 4


def test_nothing_known_is_said(run):
    out = run("model", "--history", "x,y", "-k", "2")[1]
    assert "2 of the history's items are not in the catalogue; skipped." in out
    assert "fallback: nothing of the history is known, so these are the most popular items." in out


@pytest.mark.parametrize("model", ["model", "popular"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--allow-items", "P00003,P00007"), {"P00003", "P00007"}),
        (("--allow", "item_id=P00003,P00007", "--allow", "item_id=P00009"), {"P00003", "P00007", "P00009"}),
        (("--allow-items", "P00003,P00007", "--deny-items", "P00007"), {"P00003"}),
        (("--allow-items", "P00003,P00007", "--deny", "item_id=P00003"), {"P00007"}),
    ],
)
def test_filters(run, model, words, expected):
    found = json.loads(run(model, "--history", "P00001", "--json", *words)[1])
    assert {item["item_id"] for item in found["items"]} == expected


def test_a_value_that_no_item_has_is_told(run):
    code, out, _ = run("popular", "--history", "P00001", "--deny", "item_id=P99", "--deny", "brand=nobody", "-k", "1")
    assert code == 0
    assert "note: 1 of the 1 item ids of a filter are not in the catalogue, such as 'P99'." in out
    assert "note: no item has brand=nobody" in out


def test_fewer_items_than_asked_for(run):
    out = run("popular", "--history", "P00001", "--allow-items", "P00003")[1]
    assert "only 1 item is left by the filters" in out


def recommended(run, *words: str) -> set[str]:
    code, out, error = run("plus", "--history", "P00001,P00002", "-k", "100", "--json", *words)
    assert code == 0, error
    return {item["item_id"] for item in json.loads(out)["items"]}


def test_steering_keeps_to_slots_and_columns(run, folder):
    model = load_model(folder / "plus")
    codes, items = model.semantic_ids.codes, model.catalog.frame
    likes = items["item_id"].to_list()
    for keep, slots in (("1", [0]), ("1,3", [0, 2]), ("3", [2])):
        same = (codes[:, slots] == codes[7, slots]).all(1)
        wanted = {item_id for item_id, agrees in zip(likes, same, strict=True) if agrees}
        assert recommended(run, "--like", likes[7], "--keep", keep) == wanted
    brand = set(items.filter(pl.col("brand") == items["brand"][7])["item_id"])
    assert recommended(run, "--like", likes[7], "--keep", "brand") == brand
    both = recommended(run, "--like", likes[7], "--keep", "1", "--keep", "brand", "--exclude-seen")
    assert both <= brand - {"P00001", "P00002"}


def test_a_steered_generation_is_explained_within_the_condition(run):
    out = run("plus", "--history", "P00001", "-k", "2", "--like", "P00007", "--keep", "1", "--explain", "--json")[1]
    found = json.loads(out)
    shown = [item["title"] for item in found["items"]]
    assert [candidate["titles"][0] for candidate in found["steps"][-1]["best"]][: len(shown)] == shown


def test_many_users_are_steered_alike(run, folder):
    users = pl.DataFrame({"user_id": [1, 2], "history": [["P00001"], []]})
    users.write_parquet(folder / "steered.parquet")
    words = ("--input", "steered.parquet", "--output", "out.parquet", "-k", "100", "--like", "P00007", "--json")
    assert run("plus", *words, "--keep", "brand")[0] == 0
    items = load_model(folder / "plus").catalog.frame
    brand = items.filter(pl.col("brand") == items.filter(pl.col("item_id") == "P00007")["brand"][0])["item_id"]
    found = pl.read_parquet(folder / "out.parquet")["item_ids"].to_list()
    assert [set(row) for row in found] == [set(brand)] * 2
    assert not json.loads(run("plus", *words, "--keep", "1", "--replace")[1])["skipped"], (
        "another condition is another job"
    )


def test_search_settings(run):
    greedy = json.loads(run("model", "--history", "P00001", "--set", "search.beam_size=1", "--json")[1])
    assert len(greedy["items"]) == 1, "one beam has one answer"


def test_an_explained_generation(run):
    code, out, _ = run("model", "--history", "P00001,P00002", "-k", "3", "--explain", "--exclude-seen")
    assert code == 0
    assert out.startswith("What the user had, newest last:\n  - ")
    assert [line[:11] for line in out.splitlines() if line.startswith("Step ")] == [f"Step {n} of 3" for n in (1, 2, 3)]
    assert out.count("<- filled now") == 3
    assert "  3 candidates complete, likeliest first:" in out
    assert out.index("Step 3 of 3") < out.index("Recommended")


def test_an_explanation_for_programs(run):
    words = ("--history", "P00001,P00002", "-k", "3", "--json")
    found = json.loads(run("model", *words, "--explain")[1])
    assert found["items"] == json.loads(run("model", *words)[1])["items"]
    assert [(step["number"], step["n_steps"]) for step in found["steps"]] == [(1, 3), (2, 3), (3, 3)]
    last = found["steps"][-1]["best"]
    assert [candidate["titles"][0] for candidate in last] == [item["title"] for item in found["items"]]


def test_many_users(run, folder):
    users = pl.DataFrame({"user_id": [7, 8, 9], "history": [["P00001"], ["P00002", "zzz"], []]})
    users.write_parquet(folder / "users.parquet")
    words = ("--input", "users.parquet", "--output", "recs.parquet", "-k", "2", "--titles", "--batch-users", "2")
    code, out, _ = run("model", *words)
    assert code == 0
    assert "3 users in " in out and "1 of them got the most popular items" in out and "1 unknown item" in out
    assert "wrote recs.parquet" in out
    found = pl.read_parquet(folder / "recs.parquet")
    assert found["user_id"].to_list() == [7, 8, 9]
    assert found["fallback"].to_list() == [False, False, True]
    assert found["titles"].list.len().to_list() == [2, 2, 2]
    summary = json.loads(run("model", *words, "--json")[1])
    assert (summary["users"], summary["unknown_items"], summary["skipped"]) == (3, 1, True)


def test_many_files_go_into_a_folder(run, folder):
    (folder / "many").mkdir()
    for name in ("a", "b"):
        pl.DataFrame({"user_id": [f"{name}1"], "history": [["P00001"]]}).write_parquet(folder / f"many/{name}.parquet")
    words = ("--input", "many/*.parquet", "--output", "folder", "-k", "2")
    code, out, _ = run("popular", *words)
    assert code == 0
    assert "2 files, 0 of them already there:" in out
    assert "folder/**/*.parquet" in out
    assert pl.read_parquet(folder / "folder/*.parquet")["user_id"].to_list() == ["a1", "b1"]
    found = json.loads(run("popular", *words, "--json")[1])
    assert (found["users"], found["skipped"], len(found["files"])) == (2, True, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("model",), "give --history a,b,c or --user U17 for one user, or --input users.csv for many"),
        (("model", "--history", "a", "--input", "u", "--output", "o"), "give --history a,b,c or --user"),
        (("model", "--input", "u"), "--input and --output belong together"),
        (("model", "--history", "a", "--on", "ray"), "one user is answered here"),
        (("model", "--input", "u", "--output", "o", "--workers", "2"), "add --on ray"),
        (("model", "--input", "u", "--output", "o", "--explain"), "--explain draws one generation"),
        (("model", "--history", "a", "--titles"), "--titles is for the output file"),
        (("model", "--input", "u.csv", "--output", "o"), "u.csv: no such file; check the path."),
        (("model", "--input", "u", "--output", "o"), "u: cannot tell its format from its name; tables end in .csv"),
        (("model", "--input", "u.csv", "--output", "o.xlsx"), "o.xlsx: recommendations are written to .parquet, .csv"),
        (("model", "--user", "U1"), "this llada-rec was trained on data in memory; give the interactions of its users"),
        (("model", "--history", "a", "--allow", "brand"), "the filter 'brand' cannot be read"),
        (("model", "--history", "a", "--allow", "colour=red"), "the catalogue has no column colour; it has: item_id"),
        (("model", "--history", "a", "--deny", "a=b", "--deny-items", "c"), "give either --deny-items or --deny"),
        (("plus", "--history", "a", "--like", "P00001"), "--like and --keep belong together"),
        (("plus", "--history", "a", "--keep", "1"), "--like and --keep belong together"),
        (("plus", "--history", "a", "--like", "nobody", "--keep", "1"), "item 'nobody' is not in the catalogue"),
        (("plus", "--history", "a", "--like", "P00001", "--keep", "0"), "name code slots from 1 to 3"),
        (("plus", "--history", "a", "--like", "P00001", "--keep", "smell"), "the catalogue has no column smell"),
        (("model", "--history", "a", "--like", "P00001", "--keep", "1"), "llada-rec cannot be steered by --like"),
        (("popular", "--history", "a", "--like", "P00001", "--keep", "1"), "popularity cannot be steered by --like"),
        (("model", "--history", "a", "--set", "d_model=3"), "--set d_model: only the search can be set here"),
        (("model", "--history", "a", "--set", "search=3"), "--set search: only the search can be set here"),
        (("model", "--history", "a", "--set", "search.beam_sise=3"), "did you mean beam_size?"),
        (("model", "--history", "a", "--engine", "cuda"), "'cuda' is not an engine; choose one of torch, onnx"),
        (("model", "--history", "a", "--explain"), "none of the history's items is in the catalogue"),
        (("model", "--history", "P00001", "--explain", "--set", "search.method=score-all"), "no steps to explain"),
        (("popular", "--history", "a", "--set", "search.beam_size=3"), "is a popularity model, which does not search"),
        (("popular", "--history", "a", "--engine", "onnx"), "is a popularity model, which runs by torch only"),
        (("popular", "--history", "P00001", "--explain"), "popularity does not generate step by step"),
        (("nothing", "--history", "a"), "nothing: no such directory; make one with `sidrec train`."),
        (("model", "--history", "P00001", "-k", "0"), "k is 0; ask for a whole number of items"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(run, words, message):
    code, out, errors = run(*words)
    assert code == 2
    assert message in errors
    assert out == ""
    assert "Traceback" not in errors


def test_a_user_of_the_training_data_or_of_this_week(run, folder):
    user = demo_shop(n_items=100, n_users=60).user_ids[3]
    history = Dataset.load(folder / "shop").history(user)
    code, out, errors = run("popular-here", "--user", user, "-k", "3", "--json", "--exclude-seen")
    assert code == 0
    assert json.loads(out)["history"] == history
    assert f"{user}: {len(history)} interactions, the last {history[-1]}." in errors
    (folder / "week.csv").write_text("Kunde;sku\nK1;P00001\nK1;P00002\n", encoding="utf-8")
    columns = ("--interactions", "week.csv", "--interaction-columns", "user_id=Kunde,item_id=sku")
    code, out, _ = run("popular", "--user", "K1", *columns)
    assert code == 0
    assert "next: sidrec recommend popular --user K1 --history P00001,P00002 --json" in out
    code, out, _ = run("popular", "--user", "K3", "--history", "P00001")
    assert code == 0 and "next: sidrec recommend popular --user K3 --history P00001 --json" in out
    code, _, errors = run("popular", "--user", "K2", *columns)
    assert code == 2
    assert "week.csv: has no user 'K2' among its 1; give a history, or interactions that have the user" in errors
    (folder / "users.csv").write_text("user_id\nK1\nK2\n", encoding="utf-8")
    code, out, _ = run("popular", "--input", "users.csv", "--output", "recs.csv", *columns)
    assert code == 0
    assert "1 of the users are not in the interactions" in out
    assert pl.read_csv(folder / "recs.csv").height == 20

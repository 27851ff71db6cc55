"""What a notebook shows of an object is worth reading."""

from __future__ import annotations

import pytest

import sidrec
from sidrec.data.synthetic import clusters
from sidrec.models.id_search import Generation
from sidrec.models.ranking import Recommendations

TINY = {"d_model": 8, "n_heads": 1, "n_layers": 1, "embedding": {"encoder": "tfidf"}}
TINY |= {"max_history": 20, "training": {"epochs": 1, "batch_size": 1024}}
IDS = {"tokenizer": "opq", "options": {"codebook_size": 4, "n_codes": 3}}


@pytest.fixture(scope="module")
def data():
    return clusters(n_clusters=2, cluster_size=6, n_users=20, length=5)


@pytest.fixture(scope="module")
def model(data):
    return sidrec.LLaDARec(**TINY, tokenize=IDS, beam_size=12).fit(data)


def test_a_model_says_what_was_set_and_what_it_has_learned(model):
    assert repr(sidrec.LLaDARec()) == "LLaDARec(): not fitted"
    assert repr(sidrec.SASRec(d_model=8, training={"epochs": 3})) == (
        "SASRec(d_model=8, training={'epochs': 3}): not fitted"
    )
    assert repr(sidrec.SASRecSoftmax()) == "SASRec('sasrec-ce', loss='cross-entropy'): not fitted"
    shown, found = repr(model), model.training_summary()  # how often it is judged was chosen by the size of the data
    assert shown.startswith("LLaDARec(d_model=8, n_heads=1, n_layers=1, search={'beam_size': 12}, ")
    learned = f"fitted, 12 items, 1 epochs, best validation {found['best_value']:.4f} in epoch 1"
    assert shown.endswith(f"training={{'epochs': 1, 'validate_every': 3}}): {learned}")


def test_a_model_without_epochs_speaks_of_none(data):
    assert repr(sidrec.Popularity().fit(data)) == "Popularity(): fitted, 12 items"


def test_data(data, tmp_path):
    counts = "20 users, 12 items, 100 interactions; held out: 20 validation, 20 test"
    assert repr(data) == f"Dataset({counts}; in memory)"
    data.save(tmp_path / "data")
    assert repr(sidrec.Dataset.load(tmp_path / "data")) == f"Dataset({counts}; {tmp_path / 'data'})"
    assert repr(data.catalog) == "Catalog(12 items; item_id, title, categories)"
    assert repr(data.sequences) == "Histories(20 rows, 100 items)"
    assert repr(data.cases("test")) == "Cases(20 users)"


def test_ids_and_vectors(data):
    vectors = sidrec.embed(data, encoder="tfidf")
    assert repr(vectors) == f"ItemEmbeddings(12 items, {vectors.width} numbers each, from tfidf)"
    found = sidrec.tokenize(vectors, tokenizer="opq", codebook_size=4, n_codes=3)
    assert repr(found.ids) == "SemanticIds(12 items, 12 different IDs of 4 x 4 x 4 codes)"
    assert repr(found) == "TokenizedItems(12 items, 12 different IDs of 4 x 4 x 4 codes by opq, collisions: unique)"
    assert repr(found.tokenizer) == f"OPQ(n_codes=3, codebook_size=4): fitted on vectors of {vectors.width} numbers"


def test_lists_are_shown_as_far_as_one_likes_to_read():
    lists = ([["a", "b"]] * 5, [["A", "B"]] * 5, [[-1.0, -2.5]] * 5)
    many = Recommendations(*lists, fallback=[False, True, False, False, False], unknown_items=[0] * 5)
    assert repr(many).split("\n") == [
        "Recommendations(5 lists)",
        "0:",
        "   1. a  A  -1.000",
        "   2. b  B  -2.500",
        "1: (most popular: nothing of the history is known)",
        "   1. a  A  -1.000",
        "   2. b  B  -2.500",
        "2:",
        "   1. a  A  -1.000",
        "   2. b  B  -2.500",
        "and 2 more",
    ]


def test_what_was_found_is_shown_with_its_interval(data, model):
    found = sidrec.evaluate(model, data, ks=(3,))
    lines = repr(found).split("\n")
    low, high = found.intervals["recall@3"].low, found.intervals["recall@3"].high
    assert lines[0] == "Evaluation(llada-rec, 20 users, test items)"
    assert lines[1] == f"  recall@3   {found.recall[3]:.4f}  ({low:.4f} to {high:.4f})"
    compared = repr(sidrec.compare({"one": found, "two": found}, metrics=["recall@3"])).split("\n")
    assert compared[1].startswith(f"  recall@3: one {found.recall[3]:.4f}, two {found.recall[3]:.4f}, +0.0000 (")


def test_nothing_shows_an_address_or_a_wall_of_numbers(data, model):
    answer = model.recommend([["thing-1"]], k=3)
    for thing in (data, model, answer, model.stock, model.semantic_ids, model.explain(["thing-1"]), sidrec.models()):
        assert "object at 0x" not in repr(thing), type(thing)
        assert len(repr(thing)) < (9000 if isinstance(thing, Generation) else 1500), type(thing)


def test_a_generation_draws_itself(model):
    told = model.explain(["thing-1"], k=3)
    assert repr(told).split("\n")[1:] == told.in_words(model.catalog.titles)
    assert told._repr_html_().startswith("<pre")


def test_notebooks_show_tables(data, model):
    answer = Recommendations([["a"]], [["<b>Tea</b>"]], [[-1.0]], fallback=[True], unknown_items=[0])
    shown = answer._repr_html_()
    assert "<td>1</td><td>a</td><td>&lt;b&gt;Tea&lt;/b&gt;</td><td>-1.0000</td>" in shown
    assert "nothing of the history is known" in shown
    assert "<td>interactions</td><td>100</td>" in data._repr_html_()
    assert "<caption>LLaDARec (llada-rec)</caption>" in model._repr_html_()
    assert "fitted, 12 items" in model._repr_html_()

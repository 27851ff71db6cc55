from __future__ import annotations

import json
import sys

import pytest

from sidrec.cli.app import main
from sidrec.data.synthetic import demo_shop
from sidrec.models.llada_rec.recommender import LLaDARec
from sidrec.models.popularity import Popularity


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sidrec", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


def test_other_models_have_no_graphs(run, tmp_path):
    Popularity().fit(demo_shop(n_items=100, n_users=20)).save(tmp_path / "popular")
    code, _, errors = run("export", "popular")
    assert code == 2
    assert "popular: is a popularity model, which has no graphs to export." in errors


@pytest.mark.slow
def test_export_then_recommend_by_every_engine(run, tmp_path):
    ids = {"tokenizer": "rq-kmeans", "options": {"n_codes": 3, "codebook_size": 8, "pca": None}}
    small = {"d_model": 16, "n_heads": 2, "n_layers": 1, "max_history": 4, "embedding": {"encoder": "tfidf"}}
    training = {"epochs": 1, "batch_size": 128, "metric": None}
    model = LLaDARec(**small, tokenize=ids, training=training, attention="prefix")
    model.fit(demo_shop(n_items=100, n_users=60)).save(tmp_path / "model")
    out = run("export", "model", "--out", "graphs")[1]
    assert "wrote graphs\nnext: sidrec recommend model --engine onnx --graphs graphs --history P00000,P00001" in out
    assert json.loads(run("export", "model", "--out", "graphs", "--json")[1])["graphs"] == ["history.onnx", "step.onnx"]
    assert (tmp_path / "graphs" / "manifest.json").is_file()
    words = ("recommend", "model", "--history", "P00001", "--graphs", "graphs", "--json")
    lists = [json.loads(run(*words, "--engine", engine)[1])["items"] for engine in ("torch", "onnx", "openvino")]
    assert [[item["item_id"] for item in found] for found in lists[1:]] == [[item["item_id"] for item in lists[0]]] * 2
    for found in lists[1:]:
        assert [i["score"] for i in found] == pytest.approx([i["score"] for i in lists[0]], abs=1e-4)

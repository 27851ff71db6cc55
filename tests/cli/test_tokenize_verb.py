from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sidrec.cli.app import app
from sidrec.core.errors import InputError, SettingsError
from sidrec.embeddings.item_embeddings import ItemEmbeddings

KEYS = {
    "items",
    "unique_ids",
    "collisions_before",
    "used_codes",
    "codes",
    "reconstruction_error",
    "neighbour_agreement",
    "seconds",
}


@pytest.fixture
def embeddings(tmp_path: Path) -> Path:
    vectors = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    ItemEmbeddings([f"i{item}" for item in range(40)], vectors, np.zeros(40, bool)).save(tmp_path / "emb")
    return tmp_path / "emb"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["tokenize", *(str(each) for each in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.slow
def test_json_is_one_object_with_the_promised_keys(embeddings: Path, tmp_path: Path) -> None:
    out = tmp_path / "ids"
    printed = run(embeddings, "--tokenizer", "opq", "--out", out, "--set", "codebook_size=8", "--json")
    report = json.loads(printed)
    assert set(report) >= KEYS
    assert report["items"] == report["unique_ids"] == 40
    assert report["codes"] == 32
    assert json.loads((out / "report.json").read_text())["used_codes"] == report["used_codes"]


def test_words_name_what_was_written_and_the_next_step(embeddings: Path, tmp_path: Path) -> None:
    out = tmp_path / "ids"
    printed = run(embeddings, "--tokenizer", "rq-kmeans", "--out", out, "--collisions", "keep", "--set", "n_codes=2")
    assert "report.html" in printed and "then: sidrec train" in printed
    assert (out / "report.html").is_file()


def test_mistakes_are_said_in_words(embeddings: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="did you mean codebook_size"):
        run(embeddings, "--tokenizer", "opq", "--out", tmp_path / "ids", "--set", "codebook_sise=8")
    with pytest.raises(SettingsError, match="'kmeans' is not a tokenizer"):
        run(embeddings, "--tokenizer", "kmeans", "--out", tmp_path / "ids")
    with pytest.raises(InputError, match="codebook_size=7"):
        run(embeddings, "--tokenizer", "opq", "--out", tmp_path / "ids", "--set", "codebook_sizes=[2,4]")
    assert not (tmp_path / "ids").exists()


@pytest.mark.slow
def test_ids_from_text_and_a_models_vectors(embeddings: Path, tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    ItemEmbeddings([f"i{item}" for item in range(40)], vectors, np.zeros(40, bool)).save(tmp_path / "learned")
    options = ("--tokenizer", "opq", "--set", "codebook_size=8", "--collaborative", tmp_path / "learned")
    report = json.loads(run(embeddings, "--out", tmp_path / "ids", *options, "--set", "inputs=both", "--json"))
    assert report["unique_ids"] == 40
    with pytest.raises(SettingsError, match="takes no collaborative vectors; set inputs to both"):
        run(embeddings, "--out", tmp_path / "other", *options)

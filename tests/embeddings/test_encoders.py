from __future__ import annotations

import pytest

from sidrec.core.errors import SettingsError
from sidrec.embeddings.encoders import ENCODERS, find_encoder, identity_of
from sidrec.embeddings.sentence_encoder import SentenceEncoder
from sidrec.embeddings.tfidf import TfidfEncoder


def test_names_of_the_table_are_found():
    assert [row.key for row in ENCODERS] == ["minilm", "sentence-t5-base", "tfidf"]
    assert isinstance(find_encoder("minilm"), SentenceEncoder)
    assert isinstance(find_encoder("tfidf"), TfidfEncoder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minilmm", r"not on this machine .*Did you mean minilm\?"),
        ("tf-idf", r"Did you mean tfidf\?"),
        ("some-lab/absent-model", "'some-lab/absent-model' is not on this machine and the Hugging Face hub cannot be"),
        ("absent/model/path", "is neither a local directory nor a model of the hub"),
        ("given", "hand them over in a file"),
    ],
)
def test_names_that_lead_nowhere_say_what_to_do(monkeypatch, name, message):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(SettingsError, match=message):
        find_encoder(name)


def test_the_papers_encoder_asks_the_hub_for_safetensors_only(monkeypatch, tmp_path):
    asked = {}

    def snapshot(name, ignore_patterns):
        asked.update(name=name, ignored=ignore_patterns)
        (tmp_path / "modules.json").write_text("[]")
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    find_encoder("sentence-t5-base")
    assert asked["name"] == "sentence-transformers/sentence-t5-base"
    assert {"*.bin", "*.pt", "*.pkl", "*.py"} <= set(asked["ignored"])
    find_encoder("all-mpnet-base-v2")
    assert asked["name"] == "sentence-transformers/all-mpnet-base-v2"
    find_encoder("BAAI/bge-small-en")
    assert asked["name"] == "BAAI/bge-small-en"


def test_a_name_of_the_hub_is_its_own_identity():
    assert identity_of("minilm") == "minilm"
    assert identity_of("BAAI/bge-small-en") == "BAAI/bge-small-en"

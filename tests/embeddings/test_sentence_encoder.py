from __future__ import annotations

import numpy as np
import pytest

from sidrec.core.errors import SettingsError
from sidrec.embeddings.encoders import find_encoder, identity_of
from sidrec.embeddings.sentence_encoder import SentenceEncoder, SentenceOptions, bundled_minilm

WORDS = ["the", "a", "red", "blue", "green", "wool", "cotton", "coat", "pan", "tea", "of", "and", "with", "5", "warm"]
RANDOM = np.random.default_rng(0)
TEXTS = [" ".join(RANDOM.choice(WORDS, size)) for size in (3, 17, 1, 9, 40, 2, 5, 28)]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    """One random BERT layer with a dense one above the mean, as Sentence-T5 has, saved the usual way."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(WORDS) + 5, max_position_embeddings=64, **shape)
    BertModel(config).save_pretrained(folder / "bert")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    layers = Transformer(str(folder / "bert"), max_seq_length=64)
    SentenceTransformer(modules=[layers, Pooling(16), Dense(16, 8)], device="cpu").save(str(folder / "tiny"))
    return folder / "tiny"


def test_a_local_model_gives_its_own_vectors_in_any_batching(tiny_model):
    from sentence_transformers import SentenceTransformer

    one_by_one = SentenceTransformer(str(tiny_model), device="cpu").encode(TEXTS, batch_size=1)
    for batch_size in (1, 3, 8, None):
        found = find_encoder(str(tiny_model), SentenceOptions(batch_size=batch_size)).encode(TEXTS)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, one_by_one, atol=1e-5)
    np.testing.assert_allclose(found[::-1], find_encoder(str(tiny_model)).encode(TEXTS[::-1]), atol=1e-5)


def test_batches_go_from_long_to_short(tiny_model):
    encoder = SentenceEncoder(tiny_model, SentenceOptions(batch_size=3))
    rows = np.concatenate([rows for rows, _ in encoder.batches(TEXTS)])
    lengths = [len(TEXTS[row]) for row in rows]
    assert lengths == sorted(lengths, reverse=True)
    assert sorted(rows.tolist()) == list(range(8))


def test_what_stands_behind_the_token_limit_is_not_read(tiny_model):
    short, whole = SentenceOptions(max_tokens=8), SentenceOptions(max_tokens=500)
    text = "red wool coat with warm tea"  # six tokens between [CLS] and [SEP]
    longer = f"{text} and a blue pan"
    cut = SentenceEncoder(tiny_model, short).encode([text, longer])
    np.testing.assert_allclose(cut[0], cut[1], atol=1e-5)
    read = SentenceEncoder(tiny_model, whole).encode([text, longer])
    assert np.abs(read[0] - read[1]).max() > 1e-3


def test_weights_other_than_safetensors_are_refused(tiny_model, tmp_path):
    import shutil

    shutil.copytree(tiny_model, tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").rename(tmp_path / "pickled" / "pytorch_model.bin")
    with pytest.raises(SettingsError, match=r"pytorch_model\.bin: a pickle may hold code"):
        SentenceEncoder(tmp_path / "pickled", SentenceOptions())


def test_a_model_that_cannot_be_loaded_is_named(tiny_model, tmp_path):
    import shutil

    shutil.copytree(tiny_model, tmp_path / "broken")
    (tmp_path / "broken" / "model.safetensors").unlink()
    with pytest.raises(SettingsError, match="broken: the model cannot be loaded: "):
        SentenceEncoder(tmp_path / "broken", SentenceOptions()).encode(["red"])
    with pytest.raises(SettingsError, match="tiny: the model cannot be loaded: "):
        SentenceEncoder(tiny_model, SentenceOptions(device="abacus")).encode(["red"])


def test_a_changed_local_model_is_another_encoder(tiny_model, tmp_path):
    import shutil

    shutil.copytree(tiny_model, tmp_path / "copy")
    assert identity_of(str(tmp_path / "copy")) == identity_of(str(tiny_model))
    (tmp_path / "copy" / "model.safetensors").write_bytes(b"other")
    assert identity_of(str(tmp_path / "copy")) != identity_of(str(tiny_model))


def test_a_directory_without_a_model_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="holds no sentence-transformers model"):
        SentenceEncoder(tmp_path, SentenceOptions())


def test_the_bundled_weights_are_there():
    assert (bundled_minilm() / "model.safetensors").stat().st_size > 80_000_000


@pytest.mark.slow
def test_minilm_knows_what_is_alike_without_a_network():
    texts = ["a warm winter coat", "a thick jacket for cold days", "stainless steel kitchen pan"]
    coat, jacket, pan = find_encoder("minilm").encode(texts)
    assert len(coat) == 384
    assert coat @ jacket > 0.4 > 0.3 > coat @ pan
    np.testing.assert_allclose([coat @ coat, pan @ pan], [1, 1], atol=1e-5)

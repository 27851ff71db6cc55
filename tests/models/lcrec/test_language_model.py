from __future__ import annotations

import pytest

from reference.id_speaker import TINY, write_base
from sidrec.core.errors import InputError
from sidrec.models.lcrec.config import LCRecSettings, LoraSettings
from sidrec.models.lcrec.language_model import named_model, small_model, with_adapter

pytestmark = pytest.mark.slow  # imports transformers


def test_the_small_model_has_the_asked_shape_and_one_table_of_words():
    model = small_model(LCRecSettings(**TINY), 300)
    assert model.get_input_embeddings().weight.shape == (300, 16)
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert len(model.base_model.layers) == 2


def test_only_the_adapter_of_a_named_model_learns(tmp_path):
    model = with_adapter(named_model(write_base(tmp_path, ["some words"])), LoraSettings(rank=2))
    learning = {name for name, weights in model.named_parameters() if weights.requires_grad}
    assert learning and all("lora_" in name for name in learning)
    assert any("q_proj" in name for name in learning) and any("down_proj" in name for name in learning)
    assert not any("lm_head" in name for name in learning)


def test_pickled_weights_are_never_read(tmp_path):
    base = write_base(tmp_path, ["some words"])
    (base / "model.safetensors").rename(base / "pytorch_model.bin")
    with pytest.raises(InputError, match="cannot be read as a Hugging Face causal language model with safetensors"):
        named_model(base)


def test_another_kind_of_directory_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "no-such-kind"}')
    with pytest.raises(InputError, match="cannot be read as a Hugging Face causal language model"):
        named_model(tmp_path)
